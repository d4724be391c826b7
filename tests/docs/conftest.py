"""The service that examples call."""

from tests.support.service_fixtures import service as service
from tests.support.service_fixtures import supervisor as supervisor
