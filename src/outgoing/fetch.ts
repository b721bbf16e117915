/** The same way out for libraries that bring their own requests and want `fetch`. */
import { callOut, OutgoingFault, type OutgoingOptions, type OutgoingRequest } from "./request.ts";

interface Init {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams | null | undefined;
}

const bodiless = [204, 205, 304];

/** Bodies are texts or forms; no redirect is followed. Raises OutgoingFault. */
export function outgoingFetch(options: OutgoingOptions): (url: string, init: Init) => Promise<Response> {
  return async (url, { method, headers, body }) => {
    const sent = body === undefined || body === null ? {} : { body: body.toString() };
    const request = { method: method as OutgoingRequest["method"], headers, ...sent };
    const answer = await callOut(url, request, options);
    if (answer.isCut) throw new OutgoingFault(`${new URL(url).host} answers with more than is taken.`);
    const received = Object.entries(answer.headers).flatMap(([name, values]) =>
      values.map((value): [string, string] => [name, value]),
    );
    const { status } = answer;
    return new Response(bodiless.includes(status) ? null : answer.body, { status, headers: received });
  };
}
