/** When something ends. */
import { endText, expiryText } from "./ends.ts";
import { useNow } from "../now.ts";
import { Dimmed } from "./text.tsx";

const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

interface ExpiresProps {
  readonly time: string | null | undefined;
  /** With its verb, in a sentence. */
  readonly isSentence?: boolean;
}

/** An end, with the exact moment on hover; "never" without one. */
export function Expires({ time, isSentence = false }: ExpiresProps) {
  const now = useNow();
  if (!time) return <Dimmed>{isSentence ? "never expires" : "never"}</Dimmed>;
  return (
    <time dateTime={time} title={exact.format(new Date(time))}>
      {isSentence || Date.parse(time) <= now ? expiryText(time, now) : endText(time, now)}
    </time>
  );
}
