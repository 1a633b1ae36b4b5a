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
