import { familyHealth } from "../../../contracts/data/health.ts";
import { contracts } from "../../../contracts/mod.ts";
import type { Clock } from "../../base/clock.ts";
import type { Catalogue, Probe } from "../../vendors/catalogue.ts";
import type { TargetHealth } from "../../routing/target_health.ts";
import type { Registry, Vendor } from "../../vendors/registry.ts";
import type { Endpoints } from "../bind.ts";

/** A slower answer counts as degraded. */
const slowMs = 3_000;

/** Mounts the health endpoints: always 200, never spending tokens. */
export function healthRoutes(
  app: Endpoints,
  deps: {
    registry: Registry;
    catalogue: Catalogue;
    clock: Clock;
    targetHealth: Pick<TargetHealth, "isVendorCooling">;
  },
): void {
  const check = async (vendor: Vendor) => {
    const described = describe(vendor, await deps.catalogue.probe(vendor));
    const isCooling = described.status === "ok" && deps.targetHealth.isVendorCooling(vendor.label);
    return isCooling
      ? { ...described, status: "degraded" as const, reason: "target_cooling" }
      : described;
  };
  app.bind(contracts.unifiedHealth, async () => {
    const vendors = await Promise.all(deps.registry.all.map(check));
    const configured = vendors.filter((_, index) => deps.registry.all[index]!.apiKey);
    const up = configured.filter((one) => one.status === "ok").length;
    return {
      status: configured.every(({ status }) => status === "down")
        ? "down" as const
        : up === configured.length
        ? "ok" as const
        : "degraded" as const,
      checked_at: deps.clock.now().toISOString(),
      vendors,
    };
  });
  for (const vendor of deps.registry.all) {
    app.bind(familyHealth(vendor.family), () => check(vendor));
  }
}

function describe(vendor: Vendor, probe: Probe) {
  const base = { vendor: vendor.label, checked_at: probe.checkedAt.toISOString() };
  if (!vendor.apiKey) return { ...base, status: "down" as const, reason: "vendor_not_configured" };
  const measured = { ...base, latency_ms: probe.latencyMs };
  if (!probe.fault) {
    return probe.latencyMs <= slowMs
      ? { ...measured, status: "ok" as const }
      : { ...measured, status: "degraded" as const, reason: "slow" };
  }
  // It answered, although not with a model list: calls may still work.
  const answered = probe.fault.code === "upstream_error" ||
    probe.fault.code === "upstream_invalid_response";
  return {
    ...measured,
    status: answered ? "degraded" as const : "down" as const,
    reason: probe.fault.code,
  };
}
