// Keeps the list of interactions live: asks for the newest rows while the page is visible.

const everyMs = 2000;
/** The longest wait between requests after failures. */
const longestMs = 30_000;

const calls = document.querySelector(".calls[data-live]");
const live = /** @type {HTMLButtonElement | null} */ (document.querySelector(".live-switch"));
if (calls && live) keepLive(calls, live);

function keepLive(/** @type {HTMLElement} */ calls, /** @type {HTMLButtonElement} */ button) {
  const address = calls.dataset.live ?? "";
  let timer = 0;
  let waitMs = everyMs;
  let etag = "";
  let isOn = true;

  const ask = async () => {
    if (!isOn || document.hidden) return;
    try {
      const answer = await fetch(address, {
        headers: etag ? { "if-none-match": etag } : {},
        cache: "no-store",
      });
      // The session has ended. After signing in again people get a new page, which is live.
      if (answer.redirected) {
        isOn = false;
        button.setAttribute("aria-pressed", "false");
        document.dispatchEvent(new Event("signed-out"));
        return;
      }
      if (answer.status !== 200 && answer.status !== 304) throw new Error(String(answer.status));
      if (answer.status === 200) {
        etag = answer.headers.get("etag") ?? "";
        merge(calls, await answer.text());
      }
      waitMs = everyMs;
      showAway(false);
    } catch {
      waitMs = Math.min(waitMs * 2, longestMs);
      showAway(isOn);
    }
    again();
  };
  const showAway = (/** @type {boolean} */ isAway) => {
    button.classList.toggle("live-away", isAway);
    button.lastChild.textContent = isAway ? " Reconnecting" : " Live";
  };
  const again = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, waitMs);
  };

  button.hidden = false;
  button.addEventListener("click", () => {
    isOn = !isOn;
    button.setAttribute("aria-pressed", String(isOn));
    showAway(false);
    if (isOn) ask();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) ask();
  });
  again();
}

/** Inserts new rows where they belong and removes as many at the end; no other row moves. */
function merge(/** @type {HTMLElement} */ calls, /** @type {string} */ html) {
  const body = calls.querySelector("tbody");
  if (!body) return;
  const template = document.createElement("template");
  template.innerHTML = html;
  const rows = [...template.content.querySelectorAll("tr")];
  if (rows.length === 0) return;
  const total = template.content.querySelector(".list-total");
  if (total) document.querySelector(".list-total")?.replaceWith(total);
  const shown = new Map([...body.rows].map((row) => [row.dataset.id, row]));
  const frame = /** @type {HTMLElement} */ (calls.querySelector(".table"));
  const before = frame.scrollHeight;
  let added = 0;
  let next = body.firstElementChild;
  for (const row of rows) {
    const there = shown.get(row.dataset.id);
    if (!there) {
      row.classList.add("row-new");
      body.insertBefore(row, next);
      added++;
    } else {
      // Updates what changed since, such as how long ago the call was.
      if (there.innerHTML !== row.innerHTML && !there.contains(document.activeElement)) {
        there.replaceChildren(...row.childNodes);
      }
      next = there.nextElementSibling;
    }
  }
  // Keeps the same rows in view for people who have scrolled down.
  if (frame.scrollTop > 0) frame.scrollTop += frame.scrollHeight - before;
  while (added > 0 && body.rows.length > rows.length) {
    body.rows[body.rows.length - 1]?.remove();
    added--;
  }
  calls.querySelector(".calls-empty")?.classList.remove("calls-empty");
  calls.querySelector(".empty")?.remove();
}
