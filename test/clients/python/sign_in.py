"""As much of a browser as the sign-in pages need: cookies, redirects and one form a page."""

from html.parser import HTMLParser
from urllib.parse import urljoin

import requests

from walk import ca, password, person


class Form(HTMLParser):
    action = ""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.hidden: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        given = dict(attributes)
        if tag == "form":
            self.action = given["action"]
        if tag == "input" and given.get("type") == "hidden":
            self.hidden[given["name"]] = given["value"]


class Browser:
    def __init__(self, stops_at: str = "https://client.example/") -> None:
        self.session = requests.Session()
        self.session.verify = ca
        self.stops_at = stops_at

    def open(self, url: str, form: dict | None = None) -> requests.Response | str:
        """The page; or the address, where it is the client's."""
        answer = self.session.request("GET" if form is None else "POST", url, data=form, allow_redirects=False)
        if not answer.is_redirect:
            return answer
        target = urljoin(url, answer.headers["location"])
        return target if target.startswith(self.stops_at) else self.open(target)

    def submit(self, page: requests.Response, **fields: str) -> requests.Response | str:
        form = Form(page.text)
        return self.open(urljoin(page.url, form.action), {**form.hidden, **fields})


def sign_in(url: str) -> str:
    """Signs the person in at an authorization endpoint; gives the address that carries the code."""
    browser = Browser()
    return browser.submit(browser.open(url), user=person, password=password)


def enter_code(url: str, code: str) -> None:
    """Signs the person in on the page that asks for the code of a device."""
    browser = Browser()
    confirmed = browser.submit(browser.submit(browser.open(url), user_code=code), confirm="yes")
    browser.submit(browser.submit(confirmed, user=person, password=password))
