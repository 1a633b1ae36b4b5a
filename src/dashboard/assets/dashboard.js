// Small conveniences; every page works without them.

/** Copies the button's text, and shows "Copied" on the button for a moment. */
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

/** Shows the copy buttons; called again for those that `refresh.js` puts into the page later. */
function showCopyButtons() {
  // Browsers have no clipboard on plain http off loopback: the buttons would do nothing.
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("button[data-copy][hidden]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
}

showCopyButtons();
document.addEventListener("replaced", showCopyButtons);

// A form that was refused goes on at its first wrong field.
document.querySelector("[aria-invalid=true]")?.focus();

// Keeps a form from being sent twice.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
  // The playground sends its form itself, and stays on its page.
  if (!event.defaultPrevented) remember(form);
});

// A form that changed nothing, since its session had ended or the store was away, is filled in again
// on its page. What was typed, without passwords, waits in this tab until its next page. So does what
// its page showed, in hidden fields: what others have saved since isn't replaced unseen.
const sentForm = "sent-form";
const [person, account] = [".account-person", ".account-name"].map((one) =>
  document.querySelector(one)?.textContent
);

function remember(/** @type {HTMLFormElement} */ form) {
  // The form of the sign-in page must not take the place of the one that it was opened for.
  if (person === undefined) return;
  const fields = new URLSearchParams(new FormData(form));
  for (const { name } of form.querySelectorAll("[name=csrf], [type=password]")) fields.delete(name);
  const action = form.getAttribute("action");
  sessionStorage.setItem(sentForm, JSON.stringify({ person, account, action, text: `${fields}` }));
}

/** Fills in a form that changed nothing, as the page has noted that came instead of its result. */
function restore() {
  const sent = JSON.parse(sessionStorage.getItem(sentForm) ?? "{}");
  if (document.querySelector("[data-unsent]")) {
    sessionStorage.setItem(sentForm, JSON.stringify({ ...sent, isUnsent: true }));
  }
  if (person === undefined) return;
  sessionStorage.removeItem(sentForm);
  if (!sent.isUnsent || sent.person !== person || sent.account !== account) return;
  const fields = new URLSearchParams(sent.text);
  const form = document.querySelector(`main form[action="${CSS.escape(sent.action)}"]`);
  for (const field of form?.elements ?? []) {
    if (/^(checkbox|radio)$/.test(field.type)) field.checked = fields.has(field.name, field.value);
    else if (!/^(password|submit)$/.test(field.type) && fields.has(field.name)) {
      field.value = fields.get(field.name);
    }
    // As after an error, so that nothing is sent again unseen.
    if (fields.get(field.name)) field.closest("details")?.toggleAttribute("open", true);
  }
}

restore();

function allowSending() {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
}

// The page's forms can be sent again after a return by the back button, and after somebody has
// stopped the browser while it waited for the answer.
addEventListener("pageshow", allowSending);
globalThis.navigation?.addEventListener("navigateerror", allowSending);

// Sent by the scripts that refresh a page, when the server redirects them to the sign-in page.
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

// Closes open menus on Escape, on a click elsewhere, and when the focus leaves them, which they
// would cover.
for (const name of ["click", "focusin"]) {
  addEventListener(name, ({ target }) => closeMenus(/** @type {Node} */ (target)));
}
addEventListener("keydown", ({ key }) => {
  if (key === "Escape") closeMenus(null);
});

function closeMenus(/** @type {Node | null} */ besides) {
  for (const menu of document.querySelectorAll(":is(.menu, .own-range, .topbar details)[open]")) {
    if (menu.contains(besides)) continue;
    // A focus inside would be lost with the menu: the keyboard would go on at the page's top.
    if (menu.contains(document.activeElement)) menu.querySelector("summary")?.focus();
    menu.open = false;
  }
}

// Lets people choose a day from the browser's own calendar instead of typing it.
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

/** Turns a typed day into ISO 8601 for the calendar; other text stays, and empties the calendar. */
function isoText(/** @type {string} */ text) {
  const [, day, name, year, time] =
    /^(\d+) (\w{3})\w* (\d{4})(?:, ?(\d\d:\d\d))?/.exec(text.trim()) ?? [];
  const month = months.findIndex((one) => one.toLowerCase() === name?.toLowerCase()) + 1;
  if (month === 0) return text.trim();
  const date = [year, String(month).padStart(2, "0"), day.padStart(2, "0")].join("-");
  return time ? `${date}T${time}` : date;
}
