import ServiceContextModule

/// A position in a trace: the header `traceparent` (W3C Trace Context, level 1).
public struct TraceContext: Sendable, Hashable {
    /// The halves of the trace's id, which is never 0.
    private let high: UInt64
    private let low: UInt64
    /// The id of the span, never 0.
    private let span: UInt64
    /// Whether the spans of the trace are recorded.
    public let isSampled: Bool

    /// The header's name.
    public static let header = "traceparent"
    /// Bytes of the header in version 00.
    private static let length = 55

    private init(_ high: UInt64, _ low: UInt64, span: UInt64, isSampled: Bool) {
        self.high = high
        self.low = low
        self.span = span
        self.isSampled = isSampled
    }

    /// Begins a trace with random ids.
    public init(isSampled: Bool) {
        let ids = 1...UInt64.max
        self.init(.random(in: ids), .random(in: ids), span: .random(in: ids), isSampled: isSampled)
    }

    /// Reads a header: `00-<trace id>-<span id>-<flags>` in lower-case hexadecimal digits. Nil for an invalid one,
    /// which counts as missing. Of a later version only the known fields count, as the specification demands.
    public init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        let bytes = Array(text.utf8.prefix(Self.length + 1))
        let dash = UInt8(ascii: "-")
        guard bytes.count >= Self.length, bytes[2] == dash, bytes[35] == dash, bytes[52] == dash,
            let version = Self.number(bytes[0..<2]), version != 0xff,
            let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]), high | low != 0,
            let span = Self.number(bytes[36..<52]), span != 0,
            let flags = Self.number(bytes[53..<55])
        else { return nil }
        // A later version may have more fields.
        guard bytes.count == Self.length || version > 0 && bytes[Self.length] == dash else { return nil }
        self.init(high, low, span: span, isSampled: flags & 1 == 1)
    }

    /// The header, of version 00.
    public var text: String { "00-\(traceId)-\(spanId)-\(isSampled ? "01" : "00")" }

    /// 32 hexadecimal digits.
    public var traceId: String { Self.hex(high) + Self.hex(low) }

    /// 16 hexadecimal digits.
    public var spanId: String { Self.hex(span) }

    /// The same position with another decision about the trace's spans.
    public func sampled(_ isSampled: Bool) -> TraceContext {
        TraceContext(high, low, span: span, isSampled: isSampled)
    }

    /// A new span of the same trace.
    public func child(isSampled: Bool) -> TraceContext {
        TraceContext(high, low, span: .random(in: 1...UInt64.max), isSampled: isSampled)
    }

    private static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    /// Nil unless all bytes are lower-case hexadecimal digits.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }
}

/// The client's request that the current task, or a job of the store's writer, works for.
public struct RequestTrace: Sendable {
    /// The request's id in the logs of all services; empty when there is none.
    public let requestId: String
    /// The span that new spans belong to; nil when the request has no trace.
    public let context: TraceContext?

    /// A request, with its place in a trace.
    public init(requestId: String, context: TraceContext?) {
        self.requestId = requestId
        self.context = context
    }

    /// The request of `ServiceContext.current`; nil outside of requests.
    public static var current: RequestTrace? { ServiceContext.current?.requestTrace }

    /// A context with this request, for `ServiceContext.$current`. It allocates: the gateway's event loop binds none.
    public var serviceContext: ServiceContext {
        var context = ServiceContext.topLevel
        context[RequestTraceKey.self] = self
        return context
    }
}

private enum RequestTraceKey: ServiceContextKey {
    typealias Value = RequestTrace
}

extension ServiceContext {
    /// The client's request; nil when the work is for none.
    public var requestTrace: RequestTrace? { self[RequestTraceKey.self] }
}
