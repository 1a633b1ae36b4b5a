import { overviewAddress } from "./links.ts";
import { dayText, type Range, ranges } from "./range.ts";

/** The times that can be shown: four usual ones, and days of one's own. */
export function RangeChoice({ range, by, now }: { range: Range; by: string; now: Date }) {
  const isOwn = range.key === "custom";
  const lastDay = new Date(range.to.getTime() - 1);
  return (
    <div class="range">
      <nav class="segments" aria-label="Time">
        {ranges.map(({ key, label }) => (
          <a
            href={overviewAddress({ ...range, key }, { by })}
            {...(key === range.key ? { "aria-current": "page" as const } : {})}
          >
            {label}
          </a>
        ))}
      </nav>
      <details class="own-range">
        <summary class={isOwn ? "button button-on" : "button"}>
          {isOwn ? `${dayText(range.from)} to ${dayText(lastDay)}` : "Custom"}
        </summary>
        <form method="get" action="/dashboard/overview" class="panel">
          <label for="from">First day</label>
          <input
            id="from"
            type="date"
            name="from"
            required
            value={dayText(range.from)}
            max={dayText(now)}
          />
          <label for="to">Last day</label>
          <input
            id="to"
            type="date"
            name="to"
            required
            value={dayText(lastDay)}
            max={dayText(now)}
          />
          <input type="hidden" name="by" value={by} />
          <button type="submit" class="button button-primary">Show</button>
        </form>
      </details>
    </div>
  );
}
