"""The service that the clients call."""

from tests.support.service_fixtures import service as service
