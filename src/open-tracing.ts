import { AsyncLocalStorage } from 'node:async_hooks'
import { hostname } from 'node:os'
import {
  type Attributes as OtelAttributes,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { ExportResultCode, parseTraceParent } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base'
import type { Logger } from 'pino'
import { codeOf } from './kernel/sqlstate.ts'
import { type Attributes, type Tracer, useTracer } from './kernel/tracer.ts'
import { version } from './version.ts'

interface TraceSettings {
  readonly tracesUrl: string | undefined
  readonly tracesPercent: number
}

/** Sends traces by OTLP over HTTP. This file is loaded when the setting is on, and the libraries with it. */
export function openTracing({ tracesUrl, tracesPercent }: TraceSettings, log: Logger): AsyncDisposable {
  const root = sampleByChance(tracesPercent)
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'masquerade',
      'service.version': version,
      'service.instance.id': `${hostname()}-${process.pid}`,
    }),
    sampler: new ParentBasedSampler({ root, remoteParentSampled: root, remoteParentNotSampled: root }),
    spanProcessors: [
      new BatchSpanProcessor(sayOnce(new OTLPTraceExporter({ url: tracesUrl ?? '' }), log), {
        scheduledDelayMillis: 1000,
        exportTimeoutMillis: 10_000,
      }),
    ],
  })
  useTracer(createTracer(provider.getTracer('masquerade', version)))
  return {
    async [Symbol.asyncDispose]() {
      useTracer(undefined)
      await provider.shutdown().catch(() => {})
    },
  }
}

/**
 * Keeps so many of a hundred traces, whichever ids they have: a client chooses the id of its trace, and would decide by it whether
 * its requests are kept.
 */
export function sampleByChance(percent: number): Sampler {
  return {
    shouldSample: () => ({
      decision:
        Math.random() * 100 < percent ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
    }),
    toString: () => `${percent} percent`,
  }
}

/** A collector that is away costs its traces and one line in the log. */
function sayOnce(exporter: SpanExporter, log: Logger): SpanExporter {
  let isAway = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const isLost = result.code !== ExportResultCode.SUCCESS
        if (isLost && !isAway) log.warn({ err: result.error }, 'traces could not be sent')
        isAway = isLost
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}

function createTracer(spans: ReturnType<BasicTracerProvider['getTracer']>): Tracer {
  const present = new AsyncLocalStorage<Span>()
  const requests = new WeakMap<object, Span>()
  const start = (name: string, attributes: OtelAttributes, kind: SpanKind, parent = present.getStore()) =>
    spans.startSpan(name, { attributes, kind }, parent ? trace.setSpan(ROOT_CONTEXT, parent) : ROOT_CONTEXT)
  const run = async <T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> => {
    const span = start(name, attributes, attributes['db.system.name'] ? SpanKind.CLIENT : SpanKind.INTERNAL)
    try {
      return await present.run(span, work)
    } catch (error) {
      // The message may hold values; the code does not.
      span.setStatus({ code: SpanStatusCode.ERROR })
      const code = codeOf(error)
      if (code !== '') span.setAttribute('error.type', code)
      throw error
    } finally {
      span.end()
    }
  }
  return {
    begin(request, method, traceParent) {
      const named = traceParent === undefined ? null : parseTraceParent(traceParent)
      const parent = named ? trace.wrapSpanContext({ ...named, isRemote: true }) : undefined
      const span = start(`HTTP ${method}`, { 'http.request.method': method }, SpanKind.SERVER, parent)
      requests.set(request, span)
      return (status) => {
        span.setAttribute('http.response.status_code', status)
        if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
        span.end()
      }
    },
    within(request, operation, work) {
      const span = requests.get(request)
      if (!span) return work()
      span.updateName(operation)
      return present.run(span, work)
    },
    run,
    runBelow: (name, attributes, work) => (present.getStore() ? run(name, attributes, work) : work()),
    record(name, attributes, startedAt, endedAt) {
      spans
        .startSpan(name, { attributes, kind: SpanKind.SERVER, startTime: startedAt }, ROOT_CONTEXT)
        .end(endedAt)
    },
  }
}
