import type {
  Dashboard,
  GraphFieldConfig,
  VizLegendOptions,
  VizTooltipOptions,
} from "@grafana/schema";

/** Grafana's types as JSON has their values: enumerations by their texts and numbers. */
type Json<T> = T extends string ? `${T}`
  : T extends number ? number
  : T extends (infer Item)[] ? Json<Item>[]
  : T extends object ? { [K in keyof T]: Json<T[K]> }
  : T;

export type JsonDashboard = Json<Dashboard>;
export type FieldConfig = Json<GraphFieldConfig>;
export type PanelOptions = Json<{ legend: VizLegendOptions; tooltip: VizTooltipOptions }>;

/** Of a dashboard that is a constant: what its graphs say, which the dashboard's own type leaves open. */
type Graphs<D extends { panels: readonly { type: string }[] }> = Extract<
  D["panels"][number],
  { type: "timeseries"; fieldConfig: { defaults: { custom: unknown } }; options: unknown }
>;
export type CustomOf<D extends { panels: readonly { type: string }[] }> = Mutable<
  Graphs<D>["fieldConfig"]["defaults"]["custom"]
>;
export type OptionsOf<D extends { panels: readonly { type: string }[] }> = Mutable<
  Graphs<D>["options"]
>;

type Mutable<T> = { -readonly [K in keyof T]: Mutable<T[K]> };

/** Whether every type of a union fits a shape, with no member that the shape doesn't have. */
export type IsOf<T, Shape> = [T] extends [Shape]
  ? [ForeignKeys<T, Shape>] extends [never] ? true : false
  : false;

type ForeignKeys<T, Shape> = T extends unknown ? Exclude<keyof T, keyof Shape> : never;
