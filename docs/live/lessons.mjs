// Python for the lessons: Pyodide, NumPy and kapi-sim from a folder, and a function that runs an exercise.

/**
 * Start Python.
 *
 * @param {Function} loadPyodide - Pyodide's own.
 * @param {string} folder - Where its files and the wheels are, with a slash at the end.
 * @param {string[]} wheels - Names of the wheels in that folder.
 * @param {string} runner - The text of runner.py.
 * @returns {Promise<Function>} Takes "exercise" or "puzzle", its number and a program, gives {report, is_right, trace}.
 */
export async function startPython(loadPyodide, folder, wheels, runner) {
  const python = await loadPyodide({ indexURL: folder });
  const messages = [];
  await python.loadPackage(wheels.map((name) => folder + name), {
    checkIntegrity: false, // the build compared each file with its hash
    messageCallback: () => {},
    errorCallback: (text) => messages.push(text),
  });
  if (messages.length) throw new Error(messages.join("\n"));
  const names = python.toPy({ __name__: "runner" });
  python.runPython(runner, { globals: names });
  const run = names.get("run");
  return (kind, number, text) => {
    const found = run(kind, number, text);
    const answer = found.toJs({ dict_converter: Object.fromEntries });
    found.destroy();
    return answer;
  };
}
