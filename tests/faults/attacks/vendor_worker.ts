/** The simulated vendors on a thread of their own, so that what they cost delays no measurement. */
import { LABELS, startSimulators } from "../../../demo/simulators.ts";
import { simulatedEnvironment } from "../../support/service.ts";

const simulators = await startSimulators();
const scope = globalThis as unknown as Worker;
scope.postMessage(simulatedEnvironment(simulators));
scope.addEventListener("message", () => {
  // Asked at the end: nobody may still be waiting for a vendor.
  const active = LABELS.reduce((sum, label) => sum + simulators.active(label), 0);
  scope.postMessage(active);
});
