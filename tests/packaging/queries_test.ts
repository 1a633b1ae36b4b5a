/** What the dashboard and the alert rules ask for is there, with the labels they name. */
import assert from "@std/assert";
import { startFakeVendor } from "../support/fake_vendor.ts";
import { startTestService } from "../support/service.ts";
import { wholeAnswer } from "../support/service_scripted.ts";
import { type Query, readPromql } from "./promql.ts";

const root = new URL("../../", import.meta.url);
const folder = new URL("packaging/monitoring/", root);

interface Dashboard {
  panels: { title: string; targets?: { expr: string; legendFormat: string }[] }[];
  templating: { list: { query: string | { query: string } }[] };
}

const dashboardText = (await Deno.readTextFile(new URL("grafana-dashboard.json", folder))).trim();
const dashboard: Dashboard = JSON.parse(dashboardText);
const alertsText = await Deno.readTextFile(new URL("alerts.yaml", folder));

/** As Grafana fills it in. */
function filledIn(expr: string): string {
  return expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$(vendor|model)\b/g, ".*");
}

interface Asked {
  where: string;
  query: Query;
  /** Labels that its words show of the result. */
  shows: string[];
}

const labelsIn = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, label]) => label!);

const ofPanels = dashboard.panels.flatMap(({ title, targets = [] }): Asked[] =>
  targets.map(({ expr, legendFormat }) => ({
    ...{ where: title, query: readPromql(filledIn(expr)) },
    shows: labelsIn(legendFormat, /\{\{(\w+)\}\}/g),
  }))
);
const ofVariables = dashboard.templating.list.flatMap(({ query: asked }): Asked[] => {
  // The first variable is the data source, by its type.
  if (typeof asked === "string") return [];
  const [, selector, label] = /^label_values\((.*), (\w+)\)$/.exec(asked.query)!;
  return [{ where: asked.query, query: readPromql(filledIn(selector!)), shows: [label!] }];
});
const ofAlerts = alertsText.split(/^ +- alert: /m).slice(1).map((rule): Asked => {
  const [, block, line] = /^ +expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)/m.exec(rule)!;
  return {
    where: rule.slice(0, rule.indexOf("\n")),
    query: readPromql(block ?? line!),
    shows: labelsIn(rule, /\$labels\.(\w+)/g),
  };
});
const asked = [...ofPanels, ...ofVariables, ...ofAlerts];

/** Prometheus adds these to what it scrapes, and renames a label `job` of ours. */
const ofScrape = ["instance", "job"];

/** The labels of each metric in a text of `/metrics`; `_bucket`, `_sum` and `_count` too. */
function labelsOf(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  // One that has counted nothing yet shows its name alone.
  for (const [, name, type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const names = type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
    for (const end of names) found.set(name! + end, new Set(ofScrape));
  }
  for (const [, name, labels = ""] of text.matchAll(/^(gateway_\w+)(?:\{(.*)\})? [^ ]+$/gm)) {
    const names = [...labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)].map(([, label]) =>
      label === "job" ? "exported_job" : label!
    );
    found.set(name!, found.get(name!)!.union(new Set(names)));
  }
  return found;
}

/** `/metrics` after calls of every kind: answered, failed, gone on to another model. */
async function metricsText(): Promise<string> {
  await using vendor = await startFakeVendor(({ request, answer }) => {
    if (request.method === "GET") return answer(200, { object: "list", data: [] });
    return request.body.includes('"gpt-4.1"') ? answer(500, {}) : answer(200, wholeAnswer);
  });
  await using service = await startTestService({
    env: {
      VENDOR_B_BASE_URL: `${vendor.url}/v1`,
      VENDOR_B_API_KEY: "sk-one-0123456789,sk-two-0123456789",
    },
  });
  const call = async (model: string, headers: Record<string, string> = {}) => {
    const messages = [{ role: "user", content: "Hi" }];
    const body = { model, messages };
    const answer = await service.post("/chat/v1/chat/completions", body, headers);
    await answer.text();
    return answer.status;
  };
  const status = await call("vendor-b/gpt-4.1", { "x-fallback-models": "vendor-b/gpt-5-mini" });
  assert.equal(status, 200);
  for (let calls = 0; calls < 5; calls++) assert.ok(await call("vendor-b/gpt-4.1") >= 500);
  for (let look = 0; look < 2_400; look++) {
    const text = await (await service.fetch("/metrics")).text();
    if (text.includes("gateway_background_job_runs_total{")) return text;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("no background job has run");
}

Deno.test("each query is PromQL, and asks for metrics and labels that there are", async () => {
  const known = labelsOf(await metricsText());
  const labels = (metric: string, where: string): Set<string> => {
    const found = known.get(metric);
    if (found) return found;
    throw new assert.AssertionError({ message: `${where}: ${metric} is no metric` });
  };
  let looked = 0;
  for (const { where, query: { selections, groupings, resultLabels }, shows } of asked) {
    assert.ok(selections.length > 0, where);
    for (const selection of selections) {
      for (const label of selection.labels) {
        assert.ok(labels(selection.metric, where).has(label), `${where}: no label ${label}`);
      }
      labels(selection.metric, where);
      looked++;
    }
    for (const grouping of groupings) {
      for (const label of grouping.labels) {
        const having = grouping.metrics.filter((metric) => labels(metric, where).has(label));
        assert.deepEqual(having, grouping.metrics, `${where}: not all have ${label}`);
      }
    }
    const result = resultLabels ?? [...labels(selections[0]!.metric, where)];
    for (const label of shows) assert.ok(result.includes(label), `${where} has no ${label}`);
  }
  assert.ok(looked > 35, `${looked} selections`);
});

Deno.test("a query with a mistake, or without its metric, is found", () => {
  assert.throws(() => readPromql("sum by (vendor (rate(gateway_calls_total[5m]))"), /no PromQL/);
  assert.throws(() => readPromql("rate(gateway_calls_total[5 minutes])"), /no PromQL/);
  assert.deepEqual(readPromql('topk(1, sum by (a) (rate(m{b="c"}[5m])))'), {
    selections: [{ metric: "m", labels: ["b"] }],
    groupings: [{ labels: ["a"], metrics: ["m"] }],
    resultLabels: ["a"],
  });
});

const schemaModule = (json: string) => `
import type { CustomOf, FieldConfig, IsOf, JsonDashboard, OptionsOf, PanelOptions } from
  "${new URL("./grafana_schema.ts", import.meta.url)}";
const dashboard = ${json} as const;
const whole = ${json} satisfies JsonDashboard;
const custom: IsOf<CustomOf<typeof dashboard>, FieldConfig> = true;
const options: IsOf<OptionsOf<typeof dashboard>, PanelOptions> = true;
console.log(whole, custom, options);
`;

/** Checks all at once, since most of the time goes into what they import; says what is wrong with each. */
async function checkedBySchema(jsons: readonly string[]): Promise<string[]> {
  const folder = await Deno.makeTempDir({ prefix: "dashboard-" });
  try {
    const files = jsons.map((_, at) => `${folder}/dashboard_${at}.ts`);
    for (const [at, file] of files.entries()) {
      await Deno.writeTextFile(file, schemaModule(jsons[at]!));
    }
    const config = decodeURIComponent(new URL("deno.json", root).pathname);
    const { stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--quiet", `--config=${config}`, ...files],
      env: { NO_COLOR: "1" },
    }).output();
    const problems = new TextDecoder().decode(stderr).split(/^(?=TS\d+ \[ERROR\])/m);
    return files.map((file) =>
      problems.filter((one) => one.includes(`at file://${file}:`)).join("")
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("the dashboard is one by Grafana's own schema, which refuses a wrong one", async () => {
  const changes = [
    [/"drawStyle": "line"/, '"drawStyle": "lines"'],
    [/"graphTooltip": 1/, '"graphTooltip": "shared"'],
    [/"gridPos": \{/, '"gridPos": { "left": 1,'],
  ] as const;
  const wrong = changes.map(([from, to]) => dashboardText.replace(from, to));
  for (const text of wrong) assert.notEqual(text, dashboardText);
  const [right, ...problems] = await checkedBySchema([dashboardText, ...wrong]);
  assert.equal(right, "");
  for (const [at, problem] of problems.entries()) assert.notEqual(problem, "", changes[at]![1]);
});
