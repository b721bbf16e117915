/** Figures of requests for Prometheus. They are counted by hand, because every request waits for it. */

const secondsMax = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Of one method on one route. */
class RouteFigures {
  readonly byStatus = new Map<number, number>();
  /** How many took no longer than each of `secondsMax`, but longer than the one before; last, how many took longer than all. */
  readonly byTime: number[] = Array.from({ length: secondsMax.length + 1 }, () => 0);
  secondsSum = 0;

  count(status: number, seconds: number): void {
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1);
    let bucket = 0;
    while (bucket < secondsMax.length && seconds > secondsMax[bucket]!) bucket += 1;
    this.byTime[bucket]! += 1;
    this.secondsSum += seconds;
  }
}

const [requestsName, durationName] = ["cadastre_http_requests_total", "cadastre_http_request_duration_seconds"];

export class RequestFigures {
  readonly #byMethod = new Map<string, Map<string, RouteFigures>>();

  /** A request that was answered. By the route's pattern, never by the path: paths are without number. */
  count(method: string, route: string, status: number, ms: number): void {
    let byRoute = this.#byMethod.get(method);
    if (byRoute === undefined) this.#byMethod.set(method, (byRoute = new Map()));
    let figures = byRoute.get(route);
    if (figures === undefined) byRoute.set(route, (figures = new RouteFigures()));
    figures.count(status, ms / 1000);
  }

  /** In Prometheus' format. No method or route has anything to be escaped. */
  text(): string {
    const all = [...this.#byMethod].flatMap(([method, byRoute]) =>
      [...byRoute].map(([route, figures]) => ({ labels: `method="${method}",route="${route}"`, figures })),
    );
    const lines = [
      `# HELP ${requestsName} Requests by route and status.`,
      `# TYPE ${requestsName} counter`,
      ...all.flatMap(({ labels, figures }) =>
        [...figures.byStatus].map(([status, count]) => `${requestsName}{${labels},status="${status}"} ${count}`),
      ),
      `# HELP ${durationName} Time to answer.`,
      `# TYPE ${durationName} histogram`,
      ...all.flatMap(({ labels, figures }) => durations(labels, figures)),
    ];
    return `${lines.join("\n")}\n`;
  }
}

/** Each bucket tells of all that took no longer than its limit. */
function durations(labels: string, { byTime, secondsSum }: RouteFigures): string[] {
  let count = 0;
  const buckets = [...secondsMax, "+Inf"].map((limit, bucket) => {
    count += byTime[bucket]!;
    return `${durationName}_bucket{le="${limit}",${labels}} ${count}`;
  });
  return [...buckets, `${durationName}_sum{${labels}} ${secondsSum}`, `${durationName}_count{${labels}} ${count}`];
}
