// Keeps what is under way up to date: elements with an id marked `data-live` are replaced by what
// the page says of them now. A page without any is left alone; without script a reload does the same.

const everyMs = 2000;
const slowestMs = 30_000;

/** Looks once, and again later: after a failure less and less often. */
async function refresh(/** @type {number} */ waitMs) {
  const parts = [...document.querySelectorAll("[data-live]")];
  if (parts.length === 0) return;
  // Nobody looks, or somebody is about to press something here.
  const pressed = document.activeElement?.closest("a, button, input, select, summary");
  const isBusy = document.hidden || pressed && parts.some((part) => part.contains(pressed));
  const isFine = isBusy || await replace(parts);
  const nextMs = isFine ? everyMs : Math.min(waitMs * 2, slowestMs);
  setTimeout(() => refresh(nextMs), nextMs);
}

/** False when the page can't be had: the service is away for a moment. */
async function replace(/** @type {HTMLElement[]} */ parts) {
  try {
    const answer = await fetch(location.href);
    if (!answer.ok) return false;
    if (answer.redirected) {
      // To the sign-in page: without parts to look after, the next look is the last.
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
