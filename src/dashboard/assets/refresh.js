// Keeps work in progress up to date: fetches the page again and replaces its elements marked
// `data-live`, which are matched by id. Without this script people reload the page.

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
      if (next) part.replaceWith(next);
      else delete part.dataset.live;
    }
    document.dispatchEvent(new Event("replaced"));
    return true;
  } catch {
    return false;
  }
}

setTimeout(() => refresh(everyMs), everyMs);
