import AnalyticsService
import CloudService
@preconcurrency import CrashService
import Foundation
@preconcurrency import MailService
import ParseProtocol
import SignedTokens
@preconcurrency import UsersService

extension Cost {
    static let services: [Cost] = [
        Cost("crash envelopes", 20_000) { n in
            let text = Array(("{}\n" + Text.repeated("\n", n)).utf8)
            return { _ = try SentryEnvelope(envelope: text) }
        },
        Cost("crash events of many members", 20_000) { n in
            let extra = String(decoding: Text.object(n / 20) { "\"k\($0)\":\"secret \($0)\"" }, as: UTF8.self)
            let event = try JSON(parsing: "{\"level\":\"fatal\",\"message\":\"a\",\"extra\":\(extra)}")
            return { _ = StoredEvent(event, eventId: "1") }
        },
        Cost("crash events of many frames", 20_000) { n in
            let frames = String(
                decoding: Text.list(n / 40) { "{\"function\":\"f\($0)\",\"module\":\"m.n\"}" }, as: UTF8.self)
            let event = try JSON(
                parsing: "{\"exception\":{\"values\":[{\"type\":\"E\",\"stacktrace\":{\"frames\":\(frames)}}]}}")
            return { _ = StoredEvent(event, eventId: "1") }
        },
        Cost("crash events of one text", 20_000) { n in
            let text = Text.repeated("0x7f3a ", n / 7)
            let event = JSON.object(["message": .string(text), "release": .string(text)])
            return { _ = StoredEvent(event, eventId: "1") }
        },
        Cost("crash events of a user who is forgotten", 20_000) { n in
            let name = JSON.string(Text.repeated("a", 499) + "b")
            let event: JSON = ["user": ["id": name], "message": .string(Text.repeated("a", n))]
            return { _ = EventScrubber.anonymized(event) }
        },
        Cost("crash events with a long name of a user", 100) { n in
            let event: JSON = [
                "user": ["id": .string(Text.repeated("a", n) + "b")], "message": .string(Text.repeated("a", 20_000)),
            ]
            return { _ = EventScrubber.anonymized(event) }
        },
        Cost("app events", 20_000) { n in
            let body = Array("{\"dimensions\":".utf8) + Text.object(n / 10) { "\"k\($0)\":\"v\"" } + Array("}".utf8)
            return { _ = try Event(name: "seen", body: body) }
        },
        Cost("lists of addresses", 10_000) { n in
            let text = Text.repeated("\"Long, Ada\" <ada@shop.example>, ", n / 32)
            return { _ = AddressList.addresses(in: text) }
        },
        Cost("one address", 10_000) { n in
            let text = "\"" + Text.repeated("\\\"", n / 2) + "\" <ada@shop.example>"
            return { _ = AddressList.addresses(in: text) }
        },
        Cost("subjects", 10_000) { n in
            let text = Text.repeated("né =", n / 5)
            return { _ = HeaderText.unstructured(text) }
        },
        Cost("subjects in ASCII", 10_000) { n in
            let text = Text.repeated("word = ", n / 7)
            return { _ = HeaderText.unstructured(text) }
        },
        Cost("names in headers", 10_000) { n in
            let text = Text.repeated("\"\\", n / 2)
            return { _ = HeaderText.phrase(text) }
        },
        Cost("bodies of mails", 20_000) { n in
            let text = Text.repeated("né = \n ", n / 8)
            return { _ = QuotedPrintable.encode(text) }
        },
        Cost("names of people", 10_000) { n in
            let user: JSON = ["firstName": .string("a" + Text.repeated("\u{FE0F}", n / 3)), "lastName": "b"]
            return { _ = PersonNames.values(of: user) }
        },
        Cost("signed tokens", 2_000, largest: 4) { n in
            let header = Base64URL.encode(Array("{\"alg\":\"RS256\"}".utf8))
            let payload = Base64URL.encode(Text.object(n / 10) { "\"k\($0)\":1" })
            let text = "\(header).\(payload).AAAA"
            return { _ = try SignedToken(text) }
        },
        Cost("frames of cloud code", 20_000) { n in
            let frame = FrameReader.frame(Array("{\"t\":\"pong\"}".utf8))
            let bytes = Array(repeatElement(frame, count: n / frame.count).joined())
            return {
                var reader = FrameReader()
                for start in stride(from: 0, to: bytes.count, by: 4096) {
                    reader.append(bytes[start..<min(start + 4096, bytes.count)])
                    while try reader.next() != nil {}
                }
            }
        },
        Cost("answers of cloud code", 20_000) { n in
            let frame =
                Array("{\"t\":\"done\",\"id\":1,\"result\":".utf8) + Text.object(n / 10) { "\"k\($0)\":1" }
                + Array("}".utf8)
            return { _ = try NodeMessage(frame: frame) }
        },
    ]
}
