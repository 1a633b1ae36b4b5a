import { Tabs } from "../../components.tsx";
import { overviewAddress } from "./links.ts";
import { dayText, type Range, ranges } from "./range.ts";

/** The times that can be shown: four usual ones, and days of one's own. */
export function RangeChoice({ range, by, now }: { range: Range; by: string; now: Date }) {
  const isOwn = range.key === "custom";
  const lastDay = new Date(range.to.getTime() - 1);
  return (
    <div class="range">
      <Tabs
        label="Time"
        class="segments"
        tabs={ranges.map(({ key, label }) => (
          { name: key, title: label, href: overviewAddress({ ...range, key }, { by }) }
        ))}
        current={range.key}
      />
      <details class="own-range">
        <summary class={isOwn ? "button button-on" : "button"}>
          {isOwn ? `${dayText(range.from)} to ${dayText(lastDay)}` : "Custom"}
        </summary>
        <form method="get" action="/dashboard/overview" class="panel">
          <Day name="from" label="First day" value={range.from} now={now} />
          <Day name="to" label="Last day" value={lastDay} now={now} />
          <input type="hidden" name="by" value={by} />
          <button type="submit" class="button button-primary">Show</button>
        </form>
      </details>
    </div>
  );
}

function Day({ name, label, value, now }: { name: string; label: string; value: Date; now: Date }) {
  return (
    <>
      <label for={name}>{label}</label>
      <input id={name} type="date" name={name} required value={dayText(value)} max={dayText(now)} />
    </>
  );
}
