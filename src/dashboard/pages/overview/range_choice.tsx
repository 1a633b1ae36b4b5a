import { Tabs } from "../../components.tsx";
import { DayInput } from "../../fields.tsx";
import { day } from "../../format.ts";
import { overviewAddress } from "./links.ts";
import { type Range, ranges } from "./range.ts";

/** The choice of a period: the preset ranges, or a first and a last day. */
export function RangeChoice({ range, by }: { range: Range; by: string }) {
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
          {isOwn ? `${day(range.from)} to ${day(lastDay)}` : "Custom"}
        </summary>
        <form method="get" action="/dashboard/overview" class="panel" autocomplete="off">
          <Day name="from" label="First day" value={range.typed?.from ?? day(range.from)} />
          <Day name="to" label="Last day" value={range.typed?.to ?? day(lastDay)} />
          <input type="hidden" name="by" value={by} />
          <button type="submit" class="button button-primary">Show</button>
        </form>
      </details>
    </div>
  );
}

function Day({ name, label, value }: { name: string; label: string; value: string }) {
  return (
    <>
      <label for={name}>{label}</label>
      <DayInput id={name} label={label} value={value} required isTime={false} />
    </>
  );
}
