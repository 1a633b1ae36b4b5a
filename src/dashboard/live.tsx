import type { Child } from "hono/jsx";

/**
 * A part of a page that updates itself while `on`, for work in progress: `refresh.js` fetches the
 * page again, replaces the part, and writes each new state beside it for screen readers. Without
 * scripts people reload the page.
 */
export function Live({ id, on, children }: { id: string; on: boolean; children?: Child }) {
  return (
    <>
      <div id={id} class="live" {...(on ? { "data-live": "" } : {})}>
        {on
          ? (
            <noscript>
              <p class="hint">Reload the page to see the progress.</p>
            </noscript>
          )
          : null}
        {children}
      </div>
      <p class="visually-hidden live-status" role="status"></p>
    </>
  );
}

/** Whether a job is waiting or running, so that its page must update itself. */
export function isOpen({ state }: { state: string }): boolean {
  return state === "queued" || state === "running";
}

/** A progress bar with its figures beside it. */
export function Progress({ label, done, total }: { label: string; done: number; total: number }) {
  return (
    <span class="progress">
      <progress aria-label={label} value={String(done)} max={String(Math.max(1, total))}></progress>
      <span>{`${done.toLocaleString("en-US")} of ${total.toLocaleString("en-US")}`}</span>
    </span>
  );
}
