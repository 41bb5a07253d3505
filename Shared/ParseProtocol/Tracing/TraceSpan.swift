import Glibc
import Synchronization

/// A finished span of a trace. Its attributes never hold values of a query, tokens or addresses.
public struct TraceSpan: Sendable {
    /// The kinds of spans, with their numbers in OTLP.
    public enum Kind: Int64, Sendable {
        case `internal` = 1
        case server = 2
        case client = 3
        case producer = 4
        case consumer = 5
    }

    let context: TraceContext
    /// The id of the span that this one is a part of; nil for the first span of a trace.
    let parentId: String?
    let name: String
    let kind: Kind
    /// Nanoseconds since 1970.
    let start: UInt64
    let end: UInt64
    let attributes: [String: JSON]
    let isError: Bool

    /// - Parameters:
    ///   - parent: the span that this one is a part of.
    ///   - nanoseconds: the duration until now.
    public init(
        _ name: String, _ kind: Kind, _ context: TraceContext, of parent: TraceContext?, nanoseconds: UInt64,
        _ attributes: [String: JSON] = [:], isError: Bool = false
    ) {
        self.name = name
        self.kind = kind
        self.context = context
        parentId = parent?.spanId
        end = Self.now
        start = end - min(end, nanoseconds)
        self.attributes = attributes
        self.isError = isError
    }

    private static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// The span in OTLP's JSON encoding, whose numbers of 64 bits are texts.
    var json: JSON {
        var members: [String: JSON] = [
            "traceId": .string(context.traceId), "spanId": .string(context.spanId), "name": .string(name),
            "kind": .int(kind.rawValue), "startTimeUnixNano": .string("\(start)"), "endTimeUnixNano": .string("\(end)"),
        ]
        members["parentSpanId"] = parentId.map(JSON.string)
        if !attributes.isEmpty { members["attributes"] = Self.list(attributes) }
        if isError { members["status"] = ["code": 2] }
        return .object(members)
    }

    private static func list(_ attributes: [String: JSON]) -> JSON {
        .array(
            attributes.sorted { $0.key < $1.key }.map { key, value in
                let typed: JSON =
                    switch value {
                    case .int(let number): ["intValue": .string("\(number)")]
                    case .string(let text): ["stringValue": .string(text)]
                    default: ["stringValue": .string(value.serializedText)]
                    }
                return ["key": .string(key), "value": typed]
            })
    }

    /// The body of a request to `/v1/traces`.
    /// - Parameter resource: the attributes of the process.
    public static func export(_ spans: [TraceSpan], of resource: [String: JSON]) -> JSON {
        [
            "resourceSpans": [
                [
                    "resource": ["attributes": list(resource)],
                    "scopeSpans": [["scope": ["name": "satchel"], "spans": .array(spans.map(\.json))]],
                ]
            ]
        ]
    }
}

/// The finished spans of a process that wait for their export. Adding one never waits: a full queue drops it.
public final class SpanQueue: Sendable {
    private struct State {
        var spans: [TraceSpan] = []
        var dropped = 0
    }

    private let state = Mutex(State())
    private let spansMax: Int

    /// - Parameter spansMax: the most spans that wait.
    public init(spansMax: Int = 4096) { self.spansMax = spansMax }

    /// Adds a span, or counts it as dropped.
    public func add(_ span: TraceSpan) {
        state.withLock { state in
            if state.spans.count < spansMax { state.spans.append(span) } else { state.dropped += 1 }
        }
    }

    /// Removes the oldest spans, at most so many.
    public func take(atMost count: Int) -> [TraceSpan] {
        state.withLock { state in
            let taken = Array(state.spans.prefix(count))
            state.spans.removeFirst(taken.count)
            return taken
        }
    }

    /// Counts spans that could not be exported.
    public func drop(_ count: Int) { state.withLock { $0.dropped += count } }

    /// The spans that were dropped since the start.
    public var dropped: Int { state.withLock { $0.dropped } }
}

/// The tracing of this process.
public enum Tracing {
    private static let isOn = Atomic(false)
    private static let queue = Mutex<SpanQueue?>(nil)

    /// Takes the spans of this process from now on; nil when it exports none.
    public static var spans: SpanQueue? { isOn.load(ordering: .relaxed) ? queue.withLock { $0 } : nil }

    /// Records spans from now on. Called once, at the start.
    public static func record(into spans: SpanQueue) {
        queue.withLock { $0 = spans }
        isOn.store(true, ordering: .relaxed)
    }
}

/// A span that has begun.
public final class RunningSpan: Sendable {
    /// What the work of the span passes on.
    public let context: TraceContext
    private let parent: TraceContext
    private let name: String
    private let kind: TraceSpan.Kind
    private let spans: SpanQueue
    private let start = SystemClock.monotonic

    /// Nil unless this process exports spans and those of the trace are sampled.
    public init?(_ name: @autoclosure () -> String, _ kind: TraceSpan.Kind, of parent: TraceContext?) {
        guard let parent, parent.isSampled, let spans = Tracing.spans else { return nil }
        self.parent = parent
        self.spans = spans
        self.kind = kind
        self.name = name()
        context = parent.child(isSampled: true)
    }

    /// Ends the span; to be called once.
    public func end(_ attributes: [String: JSON] = [:], isError: Bool = false) {
        spans.add(
            TraceSpan(
                name, kind, context, of: parent, nanoseconds: SystemClock.monotonic - start, attributes,
                isError: isError))
    }
}
