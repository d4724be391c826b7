"""The service that examples call."""

from tests.support.service_fixtures import service as service
