import { maxListed, otherOutcomes } from "../cohort_report.ts";
import type { OutcomeSum } from "../cohort.ts";
import type { SqlRow } from "../../database/database.ts";

/** SQL that sums outcomes by cohort, type and label, with those listed that have the most items. */
export function sumsByLabel(from: string): string {
  return `with sums as (
      select cohort_id, type, label, count(value_nanos) as value_count,
        sum(value_nanos) as value_sum, sum(value_nanos::numeric * value_nanos) as value_squares
      from ${from} group by cohort_id, type, label
    ), placed as (
      select *, row_number() over (
        partition by cohort_id order by value_count desc, type, label nulls first) as place
      from sums
    ), named as (
      select cohort_id, value_count, value_sum, value_squares,
        case when place <= ${maxListed} or type = 'revenue' then type
          else '${otherOutcomes}' end as type,
        case when place <= ${maxListed} then label else '${otherOutcomes}' end as label
      from placed
    )
    select cohort_id, type, label, sum(value_count) as value_count, sum(value_sum) as value_sum,
      sum(value_squares) as value_squares
    from named group by cohort_id, type, label order by cohort_id, type, label nulls first`;
}

/** Reads a row of sums by type and label. */
export function readOutcomeSum(row: SqlRow): OutcomeSum {
  // Sums of integers come as `numeric`, whose text is a whole number.
  const whole = (column: string) => BigInt(String(row[column]));
  return {
    type: String(row.type),
    label: row.label as string | null,
    count: whole("value_count"),
    sum: whole("value_sum"),
    sumOfSquares: whole("value_squares"),
  };
}

/** Sums by type and label; those that come first are listed. */
export class OutcomeSums {
  readonly #sums = new Map<string, OutcomeSum>();

  add(sums: readonly OutcomeSum[]): void {
    for (const one of sums) this.#add(this.#isListed(one) ? one : othersOf(one));
  }

  #isListed(one: OutcomeSum): boolean {
    // With the two of the others that `sumsByLabel` may have.
    return this.#sums.size < maxListed + 2 || this.#sums.has(keyOf(one));
  }

  #add(one: OutcomeSum): void {
    const key = keyOf(one);
    const own = this.#sums.get(key);
    if (!own) {
      this.#sums.set(key, { ...one });
      return;
    }
    own.count += one.count;
    own.sum += one.sum;
    own.sumOfSquares += one.sumOfSquares;
  }

  /** Returns the sums sorted by type, then label; sums without a label come first. */
  list(): OutcomeSum[] {
    return [...this.#sums.values()].sort((a, b) =>
      compare(a.type, b.type) || compare(a.label ?? "", b.label ?? "")
    );
  }
}

function keyOf({ type, label }: OutcomeSum): string {
  return JSON.stringify([type, label]);
}

function othersOf(one: OutcomeSum): OutcomeSum {
  const type = one.type === "revenue" ? one.type : otherOutcomes;
  return { ...one, type, label: otherOutcomes };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
