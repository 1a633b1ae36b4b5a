// Small conveniences; every page works without them.

/** Copies a text and says so on the button for a moment. */
async function copy(/** @type {HTMLButtonElement} */ button) {
  await navigator.clipboard.writeText(button.dataset.copy ?? "");
  const label = button.firstChild;
  if (!label || button.classList.contains("copied")) return;
  const before = label.textContent;
  label.textContent = "Copied";
  button.classList.add("copied");
  setTimeout(() => {
    label.textContent = before;
    button.classList.remove("copied");
  }, 1500);
}

/** What came into the page later (`refresh.js`) is prepared as well. */
function showCopyButtons() {
  // Without a clipboard (plain http off loopback) there is nothing to press.
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("button[data-copy][hidden]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
}

showCopyButtons();
document.addEventListener("replaced", showCopyButtons);

// A form that was sent isn't sent twice.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
});

// Coming back to a page by the back button, its forms can be sent again.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// A script that asked for what is new was led to the sign-in page.
document.addEventListener("signed-out", () => {
  const notice = document.createElement("p");
  notice.className = "notice notice-failed";
  notice.role = "alert";
  const link = document.createElement("a");
  link.href = location.href;
  link.textContent = "Sign in";
  notice.append("Your session has ended: this page shows nothing new any more. ", link);
  document.querySelector(".title-row")?.after(notice);
}, { once: true });

// A menu closes when somebody turns to something else.
addEventListener("click", ({ target }) => closeMenus(/** @type {Node} */ (target)));
addEventListener("keydown", ({ key }) => {
  if (key === "Escape") closeMenus(null);
});

function closeMenus(/** @type {Node | null} */ besides) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(besides)) menu.open = false;
  }
}

// A day is typed, or chosen from the browser's own calendar.
const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

for (const field of document.querySelectorAll(".day")) {
  const [typed, calendar] = field.querySelectorAll("input");
  const button = field.querySelector("button");
  calendar.hidden = false;
  button.hidden = false;
  button.addEventListener("click", () => {
    calendar.value = isoText(typed.value);
    calendar.showPicker();
  });
  calendar.addEventListener("change", () => {
    const [, year, month, day, time] = /^(\d+)-(\d+)-(\d+)(T.*)?$/.exec(calendar.value) ?? [];
    if (year === undefined) return;
    typed.value = `${Number(day)} ${months[month - 1]} ${year}${time ? `, ${time.slice(1)}` : ""}`;
    typed.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

/** What is typed, as a calendar takes it; empty if it is no day. */
function isoText(/** @type {string} */ text) {
  const [, day, name, year, time] =
    /^(\d+) (\w{3})\w* (\d{4})(?:, ?(\d\d:\d\d))?/.exec(text.trim()) ?? [];
  const month = months.findIndex((one) => one.toLowerCase() === name?.toLowerCase()) + 1;
  if (month === 0) return text.trim();
  const date = [year, String(month).padStart(2, "0"), day.padStart(2, "0")].join("-");
  return time ? `${date}T${time}` : date;
}
