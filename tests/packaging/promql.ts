import { parser } from "@prometheus-io/lezer-promql";
import assert from "@std/assert";

/** One metric that an expression asks for. */
export interface Selection {
  metric: string;
  /** Labels that its matchers name. */
  labels: string[];
}

/** What an expression selects, and the labels of its result. */
export interface Query {
  selections: Selection[];
  /** Labels of every `by` and `without`, with the metrics below it. */
  groupings: { labels: string[]; metrics: string[] }[];
  /** Of the first `by`; undefined where nothing is aggregated, empty where all is. */
  resultLabels: string[] | undefined;
}

type Node = ReturnType<typeof parser.parse>["topNode"];

/** Reads PromQL as Prometheus's own grammar has it; a mistake fails. */
export function readPromql(text: string): Query {
  const { topNode } = parser.parse(text);
  const words = ({ from, to }: Node) => text.slice(from, to);
  const all = (node: Node, name: string): Node[] =>
    descendants(node).filter((one) => one.name === name);
  for (const { type, from } of descendants(topNode)) {
    assert.ok(!type.isError, `${text} is no PromQL at ${from}`);
  }
  const selectionOf = (node: Node): Selection => ({
    metric: words(all(node, "Identifier")[0]!),
    labels: all(node, "LabelName").map(words),
  });
  const aggregates = all(topNode, "AggregateExpr");
  const groupings = aggregates.flatMap((node) => {
    const [modifier] = node.getChildren("AggregateModifier");
    if (!modifier) return [];
    const metrics = all(node, "VectorSelector").map((one) => selectionOf(one).metric);
    return [{ labels: all(modifier, "LabelName").map(words), metrics }];
  });
  return {
    selections: all(topNode, "VectorSelector").map(selectionOf),
    groupings,
    resultLabels: groupings[0]?.labels ?? (aggregates.length > 0 ? [] : undefined),
  };
}

function descendants(node: Node): Node[] {
  const found: Node[] = [node];
  for (let child = node.firstChild; child; child = child.nextSibling) {
    found.push(...descendants(child));
  }
  return found;
}
