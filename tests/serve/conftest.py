"""The fixtures of every test that needs a running service."""

from tests.support.service_fixtures import client as client
from tests.support.service_fixtures import service as service
