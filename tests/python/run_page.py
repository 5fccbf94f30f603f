"""Does what a page of the documentation shows, block by block, in the current folder.

```python            is executed, after the earlier ones of the page
```sh                is executed by bash, with nnefc on the PATH
```LANGUAGE title="FILE"   is written to the file
```output            is what the block before it prints
```
A block with needs="PACKAGE" is left out where the package is not installed.
"""
import contextlib
import importlib.util
import io
import linecache
import pathlib
import re
import subprocess
import sys
import types

BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


class Page:
    """The Python of a page so far, as a module with a file: TVMScript reads its source."""

    def __init__(self):
        self.path = pathlib.Path("page.py").resolve()
        self.path.write_text("")
        self.module = types.ModuleType("page")
        self.module.__file__ = str(self.path)
        sys.modules["page"] = self.module

    def execute(self, code):
        text = self.path.read_text()
        self.path.write_text(text + code)
        linecache.checkcache()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile("\n" * text.count("\n") + code, self.path, "exec"), vars(self.module))
        return said.getvalue()


def execute(language, code, page):
    if language == "python":
        return page.execute(code)
    if language == "sh":
        return subprocess.run(["bash", "-euc", code], check=True, stdout=subprocess.PIPE, text=True).stdout
    sys.exit(f"a block of the language '{language}' has no title, so that nothing tries it")


def main(page):
    module = Page()
    said = ""
    for language, attributes, code in BLOCK.findall(pathlib.Path(page).read_text()):
        attributes = dict(ATTRIBUTE.findall(attributes))
        if "needs" in attributes and importlib.util.find_spec(attributes["needs"]) is None:
            print(f"left out, without {attributes['needs']}: {code}")
        elif language == "output":
            if code.strip() != said.strip():
                sys.exit(f"the page says that this is printed:\n{code}but it is:\n{said}")
        elif "title" in attributes:
            path = pathlib.Path(attributes["title"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code)
        else:
            said = execute(language, code, module)


if __name__ == "__main__":
    main(sys.argv[1])
