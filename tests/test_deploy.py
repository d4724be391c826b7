"""Dockerfile, compose.yaml, deploy/ and docs/deploy.md fit to the program and to each other.

No image is built here; what a builder and a container engine would read is read instead.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import tomllib
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from halldetect.cli import build_parser
from halldetect.cli.serve import settings_for
from halldetect_serve.routes.status import open_router
from tests.support.paths import ROOT

IMAGE = "halldetect:local"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, continued lines joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in joined.splitlines()]


def last(name: str) -> str:
    return [value for found, value in instructions() if found == name][-1]


def parsed(arguments: list[str]) -> argparse.Namespace:
    return build_parser().parse_args(arguments)


def manifests(name: str) -> list[dict[str, Any]]:
    text = (ROOT / "deploy" / "kubernetes" / name).read_text(encoding="utf-8")
    return list(yaml.safe_load_all(text))


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)["services"]
    return found


def test_the_image_runs_program_commands_as_plain_user() -> None:
    (program,) = json.loads(last("ENTRYPOINT"))
    assert program in PROJECT["scripts"]
    arguments = parsed(json.loads(last("CMD")))
    assert (arguments.auth, arguments.host) == (True, "0.0.0.0")
    assert arguments.port == int(last("EXPOSE"))
    user = int(last("USER"))
    assert user > 0
    assert any(f"--uid {user} " in value for name, value in instructions() if name == "RUN")


def test_the_health_check_route_needs_no_token() -> None:
    options, _, command = last("HEALTHCHECK").partition(" CMD ")
    assert "--start-period" in options
    program, flag, code = json.loads(command)
    assert (program, flag) == ("python", "-c")
    compile(code, "health check", "exec")
    (url,) = re.findall(r"http://[^']+", code)
    assert urlsplit(url).port == parsed(json.loads(last("CMD"))).port
    assert urlsplit(url).path in {getattr(route, "path", None) for route in open_router.routes}


def test_files_the_image_copies_reach_the_builder() -> None:
    copied = [
        source
        for name, value in instructions()
        if name == "COPY" and not value.startswith("--from=build")
        for source in value.split()[:-1]
    ]
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == set(copied)
    assert all((ROOT / source).exists() for source in copied)
    assert {PROJECT["readme"], *PROJECT["license-files"], "pyproject.toml"} <= set(copied)
    assert any((ROOT / "src/halldetect/weights/base").glob("*.onnx"))


def test_the_image_installs_existing_extras_on_supported_python() -> None:
    (install,) = [value for name, value in instructions() if "pip install" in value]
    assert ".[$EXTRAS]" in shlex.split(install)
    (argument,) = [value for name, value in instructions() if name == "ARG"]
    extras = Requirement(f"halldetect[{argument.removeprefix('EXTRAS=')}]").extras
    assert {"serve", "postgres"} <= extras <= set(PROJECT["optional-dependencies"])
    bases = [value.split()[0] for name, value in instructions() if name == "FROM"]
    assert len(set(bases)) == 1  # a virtual environment needs the Python it was made with
    version = re.fullmatch(r"python:(\d+\.\d+)-slim", bases[0])
    assert version is not None
    assert f"{version[1]}.0" in SpecifierSet(PROJECT["requires-python"])


def test_compose_starts_the_service_with_its_database(services: dict[str, Any]) -> None:
    api, database = services["api"], services["database"]
    settings = settings_for(parsed(api["command"]))
    assert settings.auth
    assert settings.storage.reports
    url = urlsplit(settings.storage.url)
    assert services[url.hostname] is database
    environment = database["environment"]
    assert url.username == environment["POSTGRES_USER"]
    assert url.path == "/" + environment["POSTGRES_DB"]
    assert api["environment"]["PGPASSWORD"] == environment["POSTGRES_PASSWORD"]
    assert api["depends_on"][url.hostname] == {"condition": "service_healthy"}
    (port,) = api["ports"]
    assert port == f"127.0.0.1:{settings.port}:{settings.port}"
    assert settings.port == int(last("EXPOSE"))  # the health check asks this port
    assert (ROOT / api["build"] / "Dockerfile").is_file()
    assert api["image"] == IMAGE
    assert api["read_only"]
    assert api["tmpfs"] == ["/tmp"]
    assert float(api["stop_grace_period"].removesuffix("s")) > settings.limits.drain


def test_kubernetes_runs_the_same_image_as_safely() -> None:
    deployment, service, budget = manifests("service.yaml")
    (pod,) = [deployment["spec"]["template"]["spec"]]
    (container,) = pod["containers"]
    settings = settings_for(parsed(container["args"]))
    assert (settings.auth, settings.storage.reports) == (True, True)
    assert container["image"] == IMAGE
    (port,) = container["ports"]
    assert port["containerPort"] == settings.port == int(last("EXPOSE"))
    paths = {getattr(route, "path", None) for route in open_router.routes}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["path"] in paths
    assert pod["securityContext"]["runAsUser"] == int(last("USER"))
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/tmp", "/data"}
    assert pod["terminationGracePeriodSeconds"] > settings.limits.drain
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == labels
    assert budget["spec"]["selector"]["matchLabels"] == labels


def test_the_ray_job_runs_a_program_command() -> None:
    (job,) = manifests("ray-job.yaml")
    program, *command = shlex.split(job["spec"]["entrypoint"])
    assert program in PROJECT["scripts"]
    arguments = parsed(command)
    assert (arguments.engine, arguments.address, arguments.resume) == ("ray", "auto", True)
    cluster = job["spec"]["rayClusterSpec"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        (container,) = group["template"]["spec"]["containers"]
        assert container["image"] == "halldetect:ray"
        assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/rows"]


def test_the_image_takes_the_commands_of_its_page(services: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    lines = [
        shlex.split(line)
        for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
        for line in block.splitlines()
    ]
    runs = [words[words.index(IMAGE) + 1 :] for words in lines if words[:2] == ["docker", "run"]]
    assert len(runs) == 3
    for words in runs:
        words = words[: words.index("<")] if "<" in words else words
        assert callable(parsed(words or json.loads(last("CMD"))).run)
    (tokens,) = [words for words in lines if words[:3] == ["docker", "compose", "exec"]]
    service, program, *command = tokens[3:]
    assert [program] == json.loads(last("ENTRYPOINT"))
    assert callable(parsed(command).run)
    assert services[service]["volumes"] == ["tokens:/data"]
