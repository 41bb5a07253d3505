import MessageBus
import Messages
import SwiftProtobuf

/// Input from other processes: a message's frames, its envelope, and every message type that a body can contain.
///
/// An input is a sequence of frames, each preceded by its length in two bytes.
struct BusTarget: FuzzTarget {
    let name = "bus"
    let testInputs = 1500
    let dictionary = BusTarget.kinds + ["\u{08}\u{01}", "\u{10}\u{01}", "\u{12}", "\u{1A}"]

    private static let kinds = [ObjectCalls(of: "catalog").find.kind, UsersCalls.session.kind]

    /// All messages of Shared/Messages/Protos, as `everyMessageIsFuzzed` checks.
    static let messages: [any Message.Type] = [
        OrderLine.self, PricedLine.self, ReserveRequest.self, ReserveReply.self, CommitReservationRequest.self,
        CommitReservationReply.self, ReleaseReservationRequest.self, ReleaseReservationReply.self,
        PriceRequest.self, PriceReply.self, ConfigRequest.self, ConfigReply.self, SetConfigRequest.self,
        Envelope.self, Principal.self, Hello.self, Failure.self, Forget.self, Lease.self, SendMailRequest.self,
        OrderMade.self, OrderChanged.self, UserDeleted.self, UserRenamed.self, UserChanged.self, MergeBag.self,
        ProductDeleted.self,
        AppEvent.self,
        Accepted.self,
        SaveFileRequest.self, FileRequest.self, FileReply.self, PictureRequest.self, DeleteFileRequest.self,
        DropAccountPhoto.self, Hook.self,
        HooksRequest.self, HooksReply.self, HookChange.self, ClaimRequest.self, ReleaseRequest.self,
        BeginWrite.self, EndWrite.self, WriteState.self,
        StartJob.self, StartJobReply.self, JobsRequest.self, JobsReply.self, LookupRequest.self, Lookup.self,
        RelationMembers.self, LookupReply.self, GetRequest.self, GetReply.self, FindRequest.self,
        FindReply.self, FetchRequest.self, ClassIds.self, FetchReply.self, ObjectName.self, WriteRequest.self,
        Change.self, WriteReply.self, WriteOutcome.self, PreviewReply.self, PreviewOutcome.self,
        FunctionRequest.self, FunctionReply.self, AggregateRequest.self, AggregateReply.self,
        RestockRequest.self, ChargeRequest.self, FindChargeRequest.self, RefundRequest.self, RefundReply.self,
        RefundFailed.self, ChargeReply.self, HighestOrderRequest.self, HighestOrderReply.self, PaymentWebhook.self,
        SendPushRequest.self,
        SendPushReply.self, CrashReport.self,
        CrashAnswer.self, RequestCounts.self, RequestCount.self, SchemasRequest.self, SchemaChange.self,
        SessionRequest.self, SessionReply.self, ExtendSession.self, AccountRequest.self, AccountReply.self,
        MailRequest.self, MailLink.self, LinkRequest.self, LinkReply.self, ContactRequest.self,
        ContactReply.self, RunCode.self, CodeOutcome.self, CodeRequest.self, CodeAnswer.self, CodeDefinitions.self,
        StopJob.self, CodeJob.self, CodeJobState.self, LiveSubscribe.self, LiveSubscribed.self, LiveHold.self,
        LiveUnsubscribe.self, LiveNext.self, LiveNews.self, LiveNotice.self, DeliverRequest.self, OutboxMessage.self,
        DeliverReply.self, DeliverOutcome.self, AuditChanges.self, AuditChange.self, RightsRequest.self,
        WebSiteRequest.self, WebSiteReply.self, WebFile.self, WebHeader.self, WebPageRequest.self, WebPageReply.self,
        ShopRequest.self, ShopResult.self, ShopReply.self, ShopAsks.self, ShopAsk.self, ShopPage.self,
    ]

    // MARK: Inputs

    func generate(_ random: inout Seeded) -> [UInt8] {
        var envelope = Envelope()
        envelope.version = random.chance(95) ? BusMessage.version : UInt32(random.below(100))
        envelope.form = Envelope.Form(rawValue: random.below(7)) ?? .request
        envelope.kind = random.pick(Self.kinds + ["", "nothing", ".."])
        envelope.correlation = UInt64(random.below(1000))
        if random.chance(30) {
            envelope.failure = Failure.with {
                $0.code = Int32(random.below(300)); $0.message = "x"
            }
        }
        if random.chance(30) { envelope.principal = Principal.with { _ in } }
        let head = (try? envelope.serializedBytes() as [UInt8]) ?? []
        return ([head, fields(&random, depth: 3)] + (0..<random.below(3)).map { _ in random.bytes(random.below(20)) })
            .flatMap { Self.framed($0) }
    }

    /// Protobuf fields of every wire type, nested, some truncated.
    private func fields(_ random: inout Seeded, depth: Int) -> [UInt8] {
        (0..<random.below(8)).flatMap { _ -> [UInt8] in
            let number = UInt8(1 + random.below(14)) << 3
            switch random.below(5) {
            case 0: return [number, UInt8(random.below(128))]
            case 1: return [number] + Array(repeating: 0xFF, count: random.below(11)) + [1]
            case 2: return [number | 1] + random.bytes(8)
            case 3: return [number | 5] + random.bytes(random.chance(90) ? 4 : 2)
            default:
                let inner =
                    depth > 0 && random.chance(50) ? fields(&random, depth: depth - 1) : random.bytes(random.below(20))
                return [number | 2, UInt8(min(127, random.chance(95) ? inner.count : random.below(128)))]
                    + inner.prefix(127)
            }
        }
    }

    private static func framed(_ frame: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: frame.count >> 8), UInt8(truncatingIfNeeded: frame.count)] + frame.prefix(0xFFFF)
    }

    private static func frames(_ input: [UInt8]) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        var rest = input[...]
        while rest.count >= 2 {
            let length = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
            rest = rest.dropFirst(2)
            frames.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return frames
    }

    // MARK: Running

    func run(_ input: [UInt8]) async throws -> String {
        let frames = Self.frames(input)
        var outcome: String
        do throws(BusMessage.Malformed) {
            let message = try BusMessage(frames: frames[...])
            outcome = "\(message.envelope.form) \(message.documents.count) \(message.envelope.destination)"
        } catch {
            outcome = "\(error)"
        }
        for (index, type) in Self.messages.enumerated() {
            for frame in frames.prefix(2) {
                guard let read = try? type.init(serializedBytes: frame) else { continue }
                outcome += ".\(index)"
                let written: [UInt8] = try read.serializedBytes()
                let again = try type.init(serializedBytes: written)
                try require(again.isEqualTo(message: read), "\(type) does not survive being written.")
            }
        }
        return outcome
    }
}
