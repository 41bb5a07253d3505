import ParseProtocol

/// The validated body of `POST /push` (PARSE_PROTOCOL section 9). No I/O.
package struct PushDraft: Sendable {
    package enum Target: Sendable, Hashable {
        /// A condition on `_Installation`.
        case condition(JSON)
        /// The condition of a stored audience.
        case audience(String)
    }

    package enum Expiry: Sendable, Hashable {
        case at(Timestamp)
        /// Seconds after the push time.
        case after(Int64)
    }

    package let target: Target
    package let payload: PushPayload
    /// Nil: now.
    package let moment: PushMoment?
    package let expiry: Expiry?
    /// The audience that counts this use; nil for none.
    package let audienceId: String?
    package let title: String?

    /// How far ahead a push may be scheduled: a later time is a mistake in the year.
    private static let aheadMax = Duration.seconds(366 * 86_400)
    private static let channelsMax = 1000
    /// A client's "now" is in the past when it arrives, and its clock may be slow. A push that expired this recently is
    /// accepted, although it reaches no device.
    private static let clockSkewMax = Duration.seconds(60)
    private static let intervalMax: Int64 = 366 * 86_400

    /// - Throws: `.pushMisconfigured` (115) for an invalid push, `.invalidExpiration` (138) for an expiration before
    ///   the push, `.invalidPushTime` (152) for a push too far ahead, `.invalidChannelName` (112) for a channel's name,
    ///   `.objectTooLarge` (116) for a payload that is too large.
    package init(_ body: JSON, now: Timestamp) throws(ParseError) {
        guard case .object(let members) = body else {
            throw ParseError(.invalidJSON, "The body must be a JSON object.")
        }
        audienceId = try Self.text(members["audience_id"], "audience_id")
        target = try Self.target(members["where"], members["channels"], audienceId)
        payload = try PushPayload(members["data"])
        title = try Self.text(members["title"], "title")
        moment = try Self.given(members["push_time"]).map { value throws(ParseError) in
            guard let moment = PushMoment(value) else { throw Self.invalid("push_time") }
            return moment
        }
        if let moment, moment.earliest > now.advanced(by: Self.aheadMax) {
            throw ParseError(.invalidPushTime, "push_time must be within a year.")
        }
        expiry = try Self.expiry(members["expiration_time"], members["expiration_interval"])
        if case .at(let end) = expiry,
            end.advanced(by: Self.clockSkewMax) <= max(now, moment?.earliest ?? now)
        {
            throw ParseError(.invalidExpiration, "expiration_time must be after the push is sent.")
        }
    }

    private static func given(_ value: JSON?) -> JSON? { value.flatMap { $0.isNull ? nil : $0 } }

    private static func invalid(_ name: String) -> ParseError {
        ParseError(.pushMisconfigured, "\(name) is not valid time.")
    }

    private static func text(_ value: JSON?, _ name: String) throws(ParseError) -> String? {
        guard let value = given(value) else { return nil }
        guard let text = value.stringValue, (1...200).contains(text.utf8.count) else {
            throw ParseError(.pushMisconfigured, "\(name) must be a string of 1 to 200 bytes.")
        }
        return text
    }

    /// The recipients of a push.
    /// - Throws: `.pushMisconfigured` (115) for no recipients, or for two kinds at once, `.invalidChannelName` (112).
    static func target(_ filter: JSON?, _ channels: JSON?, _ audience: String?) throws(ParseError) -> Target {
        switch (given(filter), given(channels)) {
        case (_?, _?):
            throw ParseError(.pushMisconfigured, "Channels and query can not be set at the same time.")
        case (let filter?, nil):
            // Older clients send the condition as text.
            let condition = filter.stringValue.flatMap { try? JSON(parsing: $0) } ?? filter
            guard case .object = condition else { throw ParseError(.pushMisconfigured, "where must be an object.") }
            return .condition(condition)
        case (nil, let channels?): return .condition(["channels": ["$in": .array(try names(channels))]])
        case (nil, nil):
            guard let audience else {
                throw ParseError(
                    .pushMisconfigured, "Sending a push requires either \"channels\" or a \"where\" query.")
            }
            return .audience(audience)
        }
    }

    private static func names(_ channels: JSON) throws(ParseError) -> [JSON] {
        // An empty channel list means no recipients, as in every Parse server.
        guard let list = channels.stringValue.map({ [JSON.string($0)] }) ?? channels.arrayValue,
            list.count <= channelsMax
        else { throw ParseError(.pushMisconfigured, "channels must be at most \(channelsMax) names.") }
        for channel in list {
            guard let name = channel.stringValue, name.isEmpty || Names.isIdentifier(name) else {
                throw ParseError(
                    .invalidChannelName, "A channel name has letters, digits and _ and starts with a letter.")
            }
        }
        return list
    }

    private static func expiry(_ time: JSON?, _ interval: JSON?) throws(ParseError) -> Expiry? {
        switch (given(time), given(interval)) {
        case (_?, _?):
            throw ParseError(.pushMisconfigured, "Both expiration_time and expiration_interval cannot be set.")
        case (let time?, nil):
            switch PushMoment(time) {
            case .absolute(let end)?, .wallClock(let end)?: return .at(end)
            case nil: throw invalid("expiration_time")
            }
        case (nil, let interval?):
            guard let seconds = interval.intValue, (1...intervalMax).contains(seconds) else {
                throw ParseError(.pushMisconfigured, "expiration_interval must be a number greater than 0.")
            }
            return .after(seconds)
        case (nil, nil): return nil
        }
    }
}

extension ParseError.Code {
    package static let pushMisconfigured = ParseError.Code(rawValue: 115)
    package static let invalidExpiration = ParseError.Code(rawValue: 138)
    package static let invalidPushTime = ParseError.Code(rawValue: 152)
}
