"""Every module outside `randomness/` stays away from sources of randomness: a test over the syntax trees."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pdpmean

ROOT = Path(pdpmean.__file__).parent
DOOR = ROOT / "randomness"
DRAWING = {"keystream.py", "single_draws.py"}  # its files that reach a source

# Modules that only the door may import, whole or in part.
FORBIDDEN_MODULES = {"random", "secrets", "uuid", "opendp", "cryptography", "numpy.random", "Crypto", "openssl"}
# Names that lead to randomness wherever they hang: np.random, os.urandom, stats.norm.rvs, ...
FORBIDDEN_NAMES = {
    "random",
    "default_rng",
    "RandomState",
    "SeedSequence",
    "SystemRandom",
    "urandom",
    "getrandom",
    "token_bytes",
    "uuid1",
    "uuid4",
    "rvs",
    "random_state",
}
# Ways to import or reach something by a name that a syntax tree does not show.
FORBIDDEN_CALLS = {"__import__", "import_module", "eval", "exec"}


def uses_of_randomness(source: str) -> list[str]:
    """What in `source` reaches a random source without going through the door, as `line: what`."""
    return [
        f"{node.lineno}: {use}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.stmt, ast.expr, ast.keyword))
        for use in _uses(node)
    ]


def _uses(node: ast.stmt | ast.expr | ast.keyword) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [f"import {alias.name}" for alias in names if _is_forbidden(alias.name)]
        case ast.ImportFrom(module=module, names=names):
            paths = [f"{module}.{alias.name}" if module else alias.name for alias in names]
            return [f"import {path}" for path in paths if _is_forbidden(path)]
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.keyword(arg=str(name)):
            return [name] if name in FORBIDDEN_NAMES | FORBIDDEN_CALLS else []
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return [f"getattr {name}"] if name in FORBIDDEN_NAMES | FORBIDDEN_CALLS else []
    return []


def _is_forbidden(path: str) -> bool:
    """Whether the dotted `path` is, or lies inside, a forbidden module, or ends in a forbidden name."""
    parts = path.split(".")
    inside = {".".join(parts[: length + 1]) for length in range(len(parts))}
    return bool(inside & FORBIDDEN_MODULES) or not FORBIDDEN_NAMES.isdisjoint(parts)


@pytest.mark.parametrize(
    "planted",
    [
        "import random",
        "import os, random as r",
        "from random import gauss",
        "def f():\n    import random\n",
        "import secrets",
        "from secrets import randbits",
        "import numpy.random",
        "import numpy.random as npr",
        "from numpy import random",
        "from numpy import array, random as r",
        "from numpy.random import Generator",
        "from numpy.random import default_rng as d",
        "import numpy as np\nnp.random.normal()",
        "import numpy as np\nx = np.random",
        "import numpy\nnumpy.random.seed(1)",
        "rng = default_rng(7)",
        "rng = np.default_rng(7)",
        "rng: RandomState",
        "import os\nkey = os.urandom(32)",
        "from os import urandom",
        "from os import urandom as u",
        "import os\nkey = os.getrandom(32)",
        "import uuid",
        "from uuid import uuid4",
        "from scipy import stats\nstats.norm.rvs(size=3)",
        "from scipy.stats import norm\ndraw = norm(0, 1).rvs",
        "model.fit(x, random_state=3)",
        "import opendp",
        "from opendp.mod import enable_features",
        "def f():\n    from opendp.measurements import make_laplace\n",
        "import cryptography",
        "import cryptography.hazmat.primitives.ciphers as c",
        "from cryptography.hazmat.primitives.ciphers.algorithms import AES",
        "if True:\n    try:\n        import secrets\n    except ImportError:\n        pass\n",
        "r = __import__('random')",
        "import importlib\nr = importlib.import_module('random')",
        "from importlib import import_module\nr = import_module('secrets')",
        "exec('import random')",
        "r = getattr(np, 'random')",
        "r = getattr(os, 'urandom', None)",
        "x = [np.random.rand() for _ in range(3)]",
        "f = lambda: np.random.rand()",
        "class A:\n    rng = np.random.default_rng()\n",
        "def f(rng=np.random): ...",
        "@np.random.shuffle\ndef f(): ...",
    ],
)
def test_a_planted_source_is_caught(planted: str) -> None:
    assert uses_of_randomness(planted)


@pytest.mark.parametrize(
    "harmless",
    [
        "from pdpmean.randomness import Randomness",
        "from pdpmean import randomness",
        "from pdpmean.randomness import Randomness, laplace_scale\nRandomness.seeded(7).add_laplace(3, 2.0)",
        "def f(*, randomness=None):\n    return randomness.coins(rates)",
        "import numpy as np\nnp.sort(np.array([1.0]))",
        "import os\nos.path.join('a', 'b')",
        "from scipy import stats\nstats.norm.cdf(0.3)",
        "from scipy.stats import norm",
        "# import random\nx = 'import secrets; np.random.normal()'",
        '"""Draws at random, as numpy.random would."""',
        "import mpmath, hashlib, math",
        "random_orders = secretsanta = 3",
        "getattr(np, 'sort')",
    ],
)
def test_harmless_code_passes(harmless: str) -> None:
    assert uses_of_randomness(harmless) == []


def test_the_checker_says_where() -> None:
    assert uses_of_randomness("import os\n\nkey = os.urandom(32)\n") == ["3: urandom"]


def test_there_are_modules_to_check() -> None:
    assert {path.name for path in DOOR.iterdir()} >= DRAWING
    assert {"__init__.py", "exact_choice.py", "private_columns.py"} <= {path.name for path in ROOT.rglob("*.py")}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_door_draws(path: Path) -> None:
    uses = uses_of_randomness(path.read_text(encoding="utf-8"))
    if path.parent == DOOR:
        assert bool(uses) == (path.name in DRAWING), "the checker does not see what the door itself imports"
    else:
        assert uses == []
