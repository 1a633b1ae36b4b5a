/** A bar for a share from 0 to 1; hidden from screen readers, since a text beside it says it. */
export function Meter({ share, tone = "tone-1" }: { share: number; tone?: string }) {
  const width = Math.round(Math.max(0, Math.min(1, share)) * 1000) / 10;
  return (
    <svg class="meter" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      <rect class="meter-all" width="100" height="4" />
      <rect class={tone} width={width} height="4" />
    </svg>
  );
}
