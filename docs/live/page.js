// The Run button of each exercise.

(() => {
  const here = new URL(".", document.currentScript.src).href;
  let worker = null;

  function started() {
    worker ??= new Worker(`${here}worker.mjs`, { type: "module" });
    return worker;
  }

  function connect(box) {
    const [editor, run, stop, reset, status, report, trace] = [
      "textarea", ".kapi-run", ".kapi-stop", ".kapi-reset", "[role=status]", "pre", "iframe",
    ].map((name) => box.querySelector(name));
    const before = editor.value;

    function end(text) {
      status.textContent = text;
      run.disabled = false;
      stop.hidden = true;
    }

    function show(answer) {
      report.textContent = answer.report;
      report.className = answer.is_right ? "kapi-right" : "kapi-wrong";
      report.hidden = false;
      trace.hidden = !answer.trace;
      trace.srcdoc = answer.trace;
      end(answer.is_right ? "Right." : "Not right yet.");
    }

    run.addEventListener("click", () => {
      status.textContent = worker ? "Running …" : "Starting Python, some 20 MB the first time …";
      run.disabled = true;
      stop.hidden = false;
      const python = started();
      python.onmessage = ({ data }) => show(data);
      python.onerror = (event) => show({ report: `Python did not start: ${event.message}`, is_right: false, trace: "" });
      python.postMessage({ kind: box.dataset.kind, number: Number(box.dataset.number), text: editor.value });
    });
    stop.addEventListener("click", () => {
      worker?.terminate();
      worker = null;
      end("Stopped.");
    });
    reset.addEventListener("click", () => {
      editor.value = before;
      report.hidden = trace.hidden = true;
      status.textContent = "";
    });
    editor.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run.click();
    });
  }

  document.querySelectorAll(".kapi-live").forEach(connect);
})();
