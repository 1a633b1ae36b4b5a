import { day, end, idOf, timeOf, total } from "./calls.ts";

/** Paths by the name of what is measured. */
export type Pages = Readonly<Record<string, string>>;

const list = "/dashboard/interactions";

/** Returns typical queries, with values that `fill` and `fillPayloads` write. */
export function interactionPages(calls = total): Pages {
  const deep = timeOf(Math.floor(calls * 0.95), calls);
  const queries: Record<string, string> = {
    "first page": "",
    "page 1000": `before=${Math.floor(deep)}.8`,
    "back from page 1000": `after=${Math.floor(deep)}.8`,
    "status failed": "status=failed",
    "vendor": "vendor=vendor-c",
    "rare vendor": "vendor=vendor-z",
    "model": "model=model+3",
    "rare model": "model=model+rare",
    "two models": "model=model+3&model=model+4",
    "app": "app=app+3",
    "rare app": "app=app+rare",
    "key": "key=key+3",
    "frequent app, rare key": "app=app+3&key=key+rare",
    "frequent user, rare key": "user=everybody&key=key+rare",
    "cohort": "cohort=cohort+7",
    "frequent user": "user=everybody",
    "rare user": "user=user+77777",
    "unknown user": "user=nobody",
    "session": "session=session+4242",
    "flow": "flow=flow+2",
    "request id": "request=request+777777",
    "request id, unknown": "request=nowhere",
    "one day a month ago": `from=${dayText(-31)}&to=${dayText(-30)}`,
    "cost, 1 of 1000": "cost_min=0.00999",
    "cost, 1 of 2": "cost_min=0.005",
    "cost, none": "cost_min=5",
    "latency, 1 of 31": "latency_min=30000",
    "latency, none": "latency_min=900000",
    "cost and model": "cost_min=0.00999&model=model+3",
    "search: in 6 of 10": "q=order",
    "search: in 1 of 20": "q=refund",
    "search: in 1 of 200": "q=invoice",
    "search: in 1 of 20,000": "q=zeppelin",
    "search: one call, old": "q=number1234",
    "search: never said": "q=nowhere",
    "search: two words": "q=refund+invoice",
    "search: common and rare": "q=order+number900001",
    "search: in all, until six weeks ago": "q=telegram",
    "search: phrase": "q=%22refund+please%22",
    "search: common words, never as a phrase": "q=%22noted+thanks%22",
    "search: page 2": `q=invoice&before=${Math.floor(end - 5 * day)}.8`,
    "search and rare user": "q=order&user=user+77777",
    "search and model": "q=invoice&model=model+3",
    "search and cost": "q=refund&cost_min=0.00999",
    "search of many, one model": "q=telegram&model=model+3",
  };
  return {
    ...Object.fromEntries(
      Object.entries(queries).map(([name, query]) => [name, query ? `${list}?${query}` : list]),
    ),
    "newest rows, for the script": `${list}/newest`,
    "refused": `${list}/refused`,
    "refused, 30 days": `${list}/refused?range=30d`,
    "refused, by code": `${list}/refused?range=30d&code=rate_limit_exceeded`,
    "refused, by key": `${list}/refused?range=30d&key=key+3`,
    "refused, by model": `${list}/refused?range=30d&model=model+3`,
    "refused, by request id": `${list}/refused?request=refused+777`,
    "an agent's session": "/dashboard/session?id=session+4242",
    "a session of 3,000 calls": "/dashboard/session?id=session+long",
    "one call": `${list}/${idOf(Math.floor(calls * 0.95) + 1, calls)}`,
    "one call, old": `${list}/${idOf(1001, calls)}`,
  };
}

export function overviewPages(): Pages {
  const dates = (days: number) => `from=${dayText(-days)}&to=${dayText(-1)}`;
  const pages = [1, 3, 7, 30, 90, 366].flatMap((days) =>
    ["model", "key"].map((by) => [
      `overview, ${days} day${days === 1 ? "" : "s"} by ${by}`,
      `/dashboard/overview?${dates(days)}&by=${by}`,
    ])
  );
  return {
    "overview": "/dashboard/overview",
    ...Object.fromEntries(pages),
    ...Object.fromEntries(
      [7, 30, 90].flatMap((days) =>
        ["user", "flow", "cohort"].map((by) => [
          `overview, ${days} days by ${by}`,
          `/dashboard/overview?${dates(days)}&by=${by}`,
        ])
      ),
    ),
    "this month by app": "/dashboard/overview?range=month&by=app",
    "last month by user": "/dashboard/overview?range=last-month&by=user",
    "CSV, last month by app": "/dashboard/overview/csv?range=last-month&by=app",
    "CSV, last month by key": "/dashboard/overview/csv?range=last-month&by=key",
    "CSV, last month by cohort": "/dashboard/overview/csv?range=last-month&by=cohort",
  };
}

/** Returns a date relative to `end`, in days. */
function dayText(days: number): string {
  return new Date(end + days * day).toISOString().slice(0, "2026-11-21".length);
}

export const otherPages: Pages = {
  "API keys": "/dashboard/keys",
  "one key": "/dashboard/keys/key%203",
  "new key": "/dashboard/keys/new",
  "cohorts": "/dashboard/cohorts",
  "cohorts, from a name": "/dashboard/cohorts?from=cohort%205",
  "cohort, 30 days": "/dashboard/cohorts/show?id=cohort+7",
  "cohort, all time": "/dashboard/cohorts/show?id=cohort+7&span=all",
  "two cohorts, all time": "/dashboard/cohorts/show?id=cohort+7&with=cohort+8&span=all",
  "evaluations": "/dashboard/evals",
  "one evaluation": "/dashboard/evals/run-5",
  "new evaluation": "/dashboard/evals/new",
  "playground": "/dashboard/playground",
  "exports": "/dashboard/exports",
  "new export": "/dashboard/exports/new",
  "deletions": "/dashboard/deletion",
  "receipt of a deletion": "/dashboard/deletion/d5",
  "new deletion": "/dashboard/deletion/new",
  "vendor keys": "/dashboard/settings/vendor-keys",
  "virtual models": "/dashboard/settings/models",
  "budgets": "/dashboard/settings/budgets",
  "webhooks": "/dashboard/settings/webhooks",
  "people": "/dashboard/settings/people",
  "limits and credit": "/dashboard/settings/limits",
  "retention": "/dashboard/settings/retention",
  "audit log": "/dashboard/settings/audit",
};
