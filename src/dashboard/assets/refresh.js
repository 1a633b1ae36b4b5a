// Keeps work in progress up to date: fetches the page again and replaces its elements marked
// `data-live`, which are matched by id. New states of jobs are announced to screen readers. Without
// this script people reload the page.

const everyMs = 2000;
const slowestMs = 30_000;

/** Refreshes once and schedules the next time; after each failure the wait doubles. */
async function refresh(/** @type {number} */ waitMs) {
  const parts = [...document.querySelectorAll("[data-live]")];
  if (parts.length === 0) return;
  // Skipped while the page is hidden, or while the focus is on a control that would be replaced.
  const pressed = document.activeElement?.closest("a, button, input, select, summary");
  const isBusy = document.hidden || pressed && parts.some((part) => part.contains(pressed));
  const isFine = isBusy || await replace(parts);
  const nextMs = isFine ? everyMs : Math.min(waitMs * 2, slowestMs);
  setTimeout(() => refresh(nextMs), nextMs);
}

/** Replaces the parts. Returns false if the page couldn't be fetched: the service may be away. */
async function replace(/** @type {HTMLElement[]} */ parts) {
  try {
    const answer = await fetch(location.href);
    if (!answer.ok) return false;
    if (answer.redirected) {
      // Redirected to the sign-in page: without live parts the next refresh is the last.
      for (const part of parts) delete part.dataset.live;
      document.dispatchEvent(new Event("signed-out"));
      return true;
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of parts) {
      const next = page.getElementById(part.id);
      if (!next) {
        delete part.dataset.live;
        continue;
      }
      const before = statesIn(part);
      part.replaceWith(next);
      announce(statesIn(next).filter((one) => !takeOut(before, one)));
    }
    document.dispatchEvent(new Event("replaced"));
    return true;
  } catch {
    return false;
  }
}

/** Returns each job's name and state. Figures of the progress aren't among them: they change often. */
function statesIn(/** @type {HTMLElement} */ part) {
  return [...part.querySelectorAll(".badge")].map((badge) => {
    const named = badge.closest("tr")?.cells[0] ?? document.querySelector("h1");
    // A relative time is another one a minute later.
    const name = named?.querySelector("time")?.title ?? named?.innerText;
    return `${name}: ${badge.textContent}`.replace(/\s+/g, " ");
  });
}

/** Removes the first element that equals `one`, if any, and returns whether there was one. */
function takeOut(/** @type {string[]} */ list, /** @type {string} */ one) {
  const at = list.indexOf(one);
  return at >= 0 && list.splice(at, 1).length > 0;
}

function announce(/** @type {string[]} */ states) {
  const status = document.querySelector(".live-status");
  if (status && states.length > 0) status.textContent = states.join(", ");
}

setTimeout(() => refresh(everyMs), everyMs);
