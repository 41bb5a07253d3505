import ParseProtocol

/// The format of `$dateToString`: texts and the parts of a date in UTC.
struct DateFormat {
    private enum Part {
        case text(String)
        case date(DatePart, digits: Int)
    }

    private let parts: [Part]

    /// - Throws: `.invalidQuery` (102) for an invalid format.
    init(_ json: JSON) throws {
        guard case .string(let format) = json, format.utf8.count <= 200 else {
            throw ParseError(.invalidQuery, "The format of $dateToString must be a short text.")
        }
        var parts: [Part] = []
        var isEscaped = false
        for character in format {
            if !isEscaped, character == "%" {
                isEscaped = true
                continue
            }
            if isEscaped, character != "%" {
                guard let (part, digits) = DateFormat.specifiers[character] else {
                    throw ParseError(.invalidQuery, "Unknown specifier %\(character) in the format of $dateToString.")
                }
                parts.append(.date(part, digits: digits))
            } else {
                parts.append(.text(String(character)))
            }
            isEscaped = false
        }
        guard !isEscaped else { throw ParseError(.invalidQuery, "The format of $dateToString ends with a %.") }
        self.parts = parts
    }

    private static let specifiers: [Character: (DatePart, Int)] = [
        "Y": (.year, 4), "m": (.month, 2), "d": (.dayOfMonth, 2), "H": (.hour, 2), "M": (.minute, 2),
        "S": (.second, 2), "L": (.millisecond, 3), "j": (.dayOfYear, 3), "w": (.dayOfWeek, 1),
    ]

    func text(of time: Timestamp) -> String {
        parts.map { part in
            switch part {
            case .text(let text): return text
            case .date(let part, let digits):
                let number = String(part.value(of: time))
                return String(repeating: "0", count: max(0, digits - number.count)) + number
            }
        }.joined()
    }
}

/// A part of a date in UTC.
enum DatePart: String {
    case year, month, dayOfMonth, hour, minute, second, millisecond
    /// 1 is Sunday.
    case dayOfWeek
    case dayOfYear

    func value(of time: Timestamp) -> Int64 {
        // The text has fixed positions: 2022-01-31T12:23:45.678Z.
        let text = Array(time.iso.utf8)
        func number(_ range: Range<Int>) -> Int64 {
            text[range].reduce(0) { $0 * 10 + Int64($1) - Int64(UInt8(ascii: "0")) }
        }
        switch self {
        case .year: return number(0..<4)
        case .month: return number(5..<7)
        case .dayOfMonth: return number(8..<10)
        case .hour: return number(11..<13)
        case .minute: return number(14..<16)
        case .second: return number(17..<19)
        case .millisecond: return number(20..<23)
        case .dayOfWeek:
            // 1 January 1970 was a Thursday, which is day 5.
            let days = (time.milliseconds - DatePart.millisecondsOfDay(time)) / 86_400_000
            return ((days + 4) % 7 + 7) % 7 + 1
        case .dayOfYear:
            let year = String(decoding: text[0..<4], as: UTF8.self)
            let start = Timestamp(iso: "\(year)-01-01T00:00:00Z") ?? time
            return (time.milliseconds - start.milliseconds) / 86_400_000 + 1
        }
    }

    private static func millisecondsOfDay(_ time: Timestamp) -> Int64 {
        (time.milliseconds % 86_400_000 + 86_400_000) % 86_400_000
    }
}
