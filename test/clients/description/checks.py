"""What schemathesis holds an answer to, beside its own checks."""

import schemathesis


@schemathesis.check
def no_fault_of_the_service(ctx, response, case) -> None:
    """A bound database that cannot be reached is no fault of the service; every other 5xx is."""
    if response.status_code >= 500:
        code = response.json().get("error", {}).get("code")
        assert code == "BoundDatabaseUnusable", f"{response.status_code} {code}"
