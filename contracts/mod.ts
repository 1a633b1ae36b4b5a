import { familyChat, unifiedChat } from "./chat.ts";
import type { Contract } from "./contract.ts";
import { createExport } from "./exports.ts";
import { familyHealth, unifiedHealth } from "./health.ts";
import { familyModels, unifiedModels } from "./models.ts";
import { livez, metrics, readyz } from "./operations.ts";
import { status } from "./status.ts";
import { vendorFamilies, type VendorFamily } from "./vendors.ts";

/** The contracts of one vendor's family, whether it is one of the seven or an operator's row. */
export function familyContracts(family: VendorFamily) {
  return {
    chat: family.dialects.includes("chat") ? familyChat(family) : undefined,
    models: familyModels(family),
    health: familyHealth(family),
  };
}

/** The contracts that are there once, whatever the vendors. */
export const contracts = {
  unifiedChat,
  unifiedModels,
  unifiedHealth,
  status,
  createExport,
  livez,
  readyz,
  metrics,
} as const;

/** Every contract, for the document. */
export function allContracts(): Contract[] {
  const families = vendorFamilies.flatMap((family) =>
    Object.values(familyContracts(family)).filter((one) => one !== undefined)
  );
  return [...Object.values(contracts), ...families] as unknown as Contract[];
}
