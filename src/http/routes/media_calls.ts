import { contracts } from "../../../contracts/mod.ts";
import type { MediaSigner } from "../../records/signed_media.ts";
import type { CallContext } from "../../relay/call_context.ts";
import type { Idempotency } from "../../idempotency/idempotency.ts";
import type { ImagesRequest } from "../../media/images.ts";
import type { Reply } from "../../relay/reply.ts";
import type { SpeechRequest } from "../../media/speech.ts";
import { permitModel } from "../../routing/permitted_route.ts";
import type { RouteTable } from "../../routing/route.ts";
import { type MediaChoice, resolveMedia } from "../../vendors/media_target.ts";
import type { Registry } from "../../vendors/registry.ts";
import type { Endpoints } from "../bind.ts";
import { type AddressDeps, ownAddress } from "../own_address.ts";
import { idempotent } from "../idempotent.ts";

type MediaCallRouteDeps = AddressDeps & {
  generateImages: (request: ImagesRequest) => Promise<Reply>;
  generateSpeech: (request: SpeechRequest) => Promise<Reply>;
  mediaSigner: Pick<MediaSigner, "sign">;
  idempotency: Idempotency;
  registry: Registry;
  routes: RouteTable;
};

/** Mounts the endpoints that make pictures and speech with any vendor. */
export function mediaCallRoutes(app: Endpoints, deps: MediaCallRouteDeps): void {
  app.bind(contracts.generateImage, async ({ caller, body, bodyText, header }) => {
    const accountId = caller.principal.account.id;
    const addressOf = (sha256: string) =>
      ownAddress(deps, header) + deps.mediaSigner.sign(accountId, sha256);
    const generate = () => deps.generateImages({ caller, body, bodyText, addressOf });
    const permit = () => permitMedia(deps, caller, body, "images");
    return await idempotent(deps.idempotency, { caller, bodyText, permit }, generate);
  });
  app.bind(contracts.generateSpeech, async ({ caller, body, bodyText, header }) => {
    const wantsFile = /\baudio\//i.test(header("accept") ?? "");
    const isBinary = wantsFile || body.encoding === "binary";
    const generate = () => deps.generateSpeech({ caller, body, bodyText, isBinary });
    const form = {
      ...(wantsFile ? { query: "binary" } : {}),
      permit: () => permitMedia(deps, caller, body, "speech"),
    };
    return await idempotent(deps.idempotency, { caller, bodyText, ...form }, generate);
  });
}

/** A request for pictures or speech may leave the choice of the model to us. */
function permitMedia(
  { registry, routes }: Pick<MediaCallRouteDeps, "registry" | "routes">,
  { principal: { key } }: CallContext,
  body: MediaChoice,
  kind: "images" | "speech",
): void {
  if (key.models.length > 0) permitModel(routes, key, resolveMedia(registry, body, kind).target);
}
