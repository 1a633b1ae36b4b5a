import type { Hono } from "hono";
import { contracts, familyContracts } from "../../../contracts/mod.ts";
import type { Dialect } from "../../dialects/dialect.ts";
import type { Relay } from "../../gateway/relay.ts";
import type { Registry, Vendor } from "../../vendors/registry.ts";
import { bind, type BindParts, type Handler } from "../bind.ts";
import type { Env } from "../scene.ts";

/** Mounts the endpoints that reach vendors: the unified family and one family per vendor. */
export function proxyRoutes(
  app: Hono<Env>,
  parts: BindParts & {
    registry: Registry;
    relay: Relay;
    dialects: Readonly<Record<"chat", Dialect>>;
  },
): void {
  const relayed = (
    dialect: Dialect,
    vendor: Vendor | undefined,
  ): Handler<undefined, undefined, typeof contracts.unifiedChat.body, never> =>
  async ({ caller, body, bodyText }) => ({
    reply: await parts.relay.send({ caller, dialect, vendor, body, bodyText }),
  });
  bind(app, contracts.unifiedChat, parts, relayed(parts.dialects.chat, undefined));
  for (const vendor of parts.registry.all) {
    const { chat } = familyContracts(vendor.family);
    if (chat) bind(app, chat, parts, relayed(parts.dialects.chat, vendor));
  }
}
