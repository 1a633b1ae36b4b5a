import type { InteractionStatus, InteractionSummary } from "../../../shared/interaction.ts";
import { duration } from "../../amounts.ts";
import type { Tone } from "../../components.tsx";

/** How the dashboard names and explains a call's status. */
export const endings: Readonly<
  Record<InteractionStatus, { label: string; tone: Tone; meaning: string }>
> = {
  completed: { label: "Completed", tone: "good", meaning: "The whole answer was delivered." },
  failed: { label: "Failed", tone: "bad", meaning: "The call failed." },
  truncated: { label: "Cut off", tone: "warn", meaning: "The vendor's stream ended early." },
  cancelled: { label: "Cancelled", tone: "neutral", meaning: "The caller left before the end." },
  interrupted: {
    label: "Interrupted",
    tone: "warn",
    meaning: "The service stopped before the call had ended.",
  },
};

/** An interrupted call's record has the latency 0, since nothing saw its end. */
export function latencyText(
  { status, latencyMs }: Pick<InteractionSummary, "status" | "latencyMs">,
): string {
  return status === "interrupted" ? "–" : duration(latencyMs);
}
