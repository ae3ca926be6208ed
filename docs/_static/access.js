// What the theme and the makers of pages leave out: names and keys for whoever does not see or point, and tables for phones.

const WIDTH_OF_PROSE = 18; // characters of a cell in the mean: tables of numbers have fewer, and stay tables

function nameParts() {
  document.querySelectorAll('p.caption[role="heading"]').forEach((each) => each.setAttribute("aria-level", "2"));
  document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "All pages");
  document.querySelector("aside.toc-drawer")?.setAttribute("aria-label", "On this page");
  document.querySelectorAll(".sphx-glr-thumbcontainer a.reference").forEach((link) => {
    link.setAttribute("aria-label", link.textContent);
  });
  document.querySelectorAll("input.anim-slider").forEach((slider) => slider.setAttribute("aria-label", "Picture"));
  document.querySelectorAll(".animation img").forEach((picture) => {
    picture.alt = document.querySelector("h1")?.firstChild?.textContent ?? "Animation";
  });
}

// On narrow windows the lists of pages and headings are drawers: keys open them, and pass by while they are closed.
const DRAWERS = [
  ["__navigation", "aside.sidebar-drawer", ".nav-overlay-icon > .icon"],
  ["__toc", "aside.toc-drawer", ".toc-overlay-icon > .icon"],
];

function letKeysOpenDrawers() {
  DRAWERS.forEach(([id, drawer, opener]) => {
    const box = document.getElementById(id);
    document.querySelectorAll(opener).forEach((icon) => {
      icon.tabIndex = 0;
      icon.setAttribute("role", "button");
      icon.setAttribute("aria-label", document.querySelector(drawer)?.getAttribute("aria-label") ?? "");
      icon.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        box.click();
        document.querySelector(`${drawer} a, ${drawer} input`)?.focus();
      });
    });
    box?.addEventListener("change", passByClosedDrawers);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    DRAWERS.forEach(([id, , opener]) => {
      const box = document.getElementById(id);
      if (!box?.checked) return;
      box.click();
      [...document.querySelectorAll(opener)].find((icon) => icon.getClientRects().length)?.focus();
    });
  });
}

function passByClosedDrawers() {
  DRAWERS.forEach(([id, drawer]) => {
    const part = document.querySelector(drawer);
    if (part) part.inert = getComputedStyle(part).position === "fixed" && !document.getElementById(id)?.checked;
  });
}

function letKeysScroll() {
  document.querySelectorAll("pre, .table-wrapper, .kapi-scroll, figure.kapi-trace").forEach((part) => {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  });
}

function stackTables() {
  document.querySelectorAll("article table.docutils").forEach((table) => {
    const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
    const cells = [...table.querySelectorAll("tbody td")].filter((cell) => cell.textContent.trim());
    const letters = cells.reduce((sum, cell) => sum + cell.textContent.trim().length, 0);
    if (heads.length < 3 || !heads[0] || letters / cells.length < WIDTH_OF_PROSE) return;
    table.classList.add("kapi-stack");
    table.querySelectorAll("tbody tr").forEach((row) => {
      [...row.cells].forEach((cell, k) => {
        cell.dataset.head = heads[k];
        cell.classList.toggle("kapi-empty", !cell.textContent.trim());
      });
    });
  });
}

nameParts();
stackTables();
letKeysScroll();
letKeysOpenDrawers();
passByClosedDrawers();
window.addEventListener("resize", letKeysScroll);
window.addEventListener("resize", passByClosedDrawers);
