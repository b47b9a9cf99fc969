"""Write the pictures of the console in ``docs/images`` from the bundled demo conversation.

It needs the extra ``dev`` and an installed Chromium, starts a server of its own, and reads no data of the user's. Look
at the pictures before you commit them.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent.parent / "docs" / "images"
Scheme = Literal["dark", "light"]
PICTURES: dict[str, tuple[str, dict[str, str], Scheme]] = {
    "console.png": ("/ask", {"user": "maya", "q": "which city do I live in now?", "tokens": "200"}, "light"),
}
"""Each picture's page, the parameters of its address, and its colours."""


def main() -> None:
    """Write every picture."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("there is no Chromium here; install one, such as with: apt install chromium")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "memorist", "--db", str(Path(folder, "demo.db"))]
        subprocess.run([*command, "demo"], check=True, stdout=subprocess.DEVNULL)
        with subprocess.Popen([*command, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                take(server.stdout.readline().split()[2].rstrip("/"), chromium)
            finally:
                server.terminate()


def take(url: str, chromium: str) -> None:
    """Write the pictures of the console at a URL."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (path, parameters, scheme) in PICTURES.items():
            page = browser.new_page(viewport={"width": 1120, "height": 600}, color_scheme=scheme)
            page.goto(f"{url}{path}?{urlencode(parameters)}", wait_until="networkidle")
            page.screenshot(path=IMAGES / name)
            print(f"{name}: {(IMAGES / name).stat().st_size / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()
