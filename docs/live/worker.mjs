// Runs exercises beside the page, so that a long one can be stopped and the page stays awake.

import { startPython } from "./lessons.mjs";

const here = new URL(".", import.meta.url).href;
const run = (async () => {
  const [{ loadPyodide }, manifest, runner] = await Promise.all([
    import(`${here}python/pyodide.mjs`),
    fetch(`${here}python/manifest.json`).then((answer) => answer.json()),
    fetch(`${here}runner.py`).then((answer) => answer.text()),
  ]);
  return startPython(loadPyodide, `${here}python/`, manifest.wheels, runner);
})();

self.onmessage = async ({ data: { kind, number, text } }) => {
  try {
    self.postMessage((await run)(kind, number, text));
  } catch (error) {
    self.postMessage({ report: String(error), is_right: false, trace: "" });
  }
};
