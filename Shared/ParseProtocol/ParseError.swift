/// An error as a Parse client sees it: `{"code": …, "error": …}`.
///
/// The message is public text. Private detail (SQL, paths, provider answers) belongs in the log.
public struct ParseError: Error, Hashable, Sendable {
    public var code: Code
    public var message: String
    /// Machine-readable detail for functions, for example a card's decline code.
    public var details: JSON?
    /// Seconds after which the same request may succeed, for `Retry-After`; nil when none are stated.
    public var retryAfterSeconds: Int?

    public init(_ code: Code, _ message: String, details: JSON? = nil) {
        self.code = code
        self.message = message
        self.details = details
    }

    /// The protocol's error codes that Satchel sends, under the names the SDKs use.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
        private init(_ rawValue: Int) { self.rawValue = rawValue }

        /// For mistakes of the request that have no code of their own.
        public static let otherCause = Code(-1)
        public static let internalServerError = Code(1)
        public static let serviceUnavailable = Code(2)
        /// Sent with 429 when one of the operator's rate limits is reached, as Parse Server does.
        public static let connectionFailed = Code(100)
        public static let objectNotFound = Code(101)
        public static let invalidQuery = Code(102)
        public static let invalidClassName = Code(103)
        public static let missingObjectId = Code(104)
        public static let invalidKeyName = Code(105)
        public static let invalidPointer = Code(106)
        public static let invalidJSON = Code(107)
        public static let commandUnavailable = Code(108)
        public static let incorrectType = Code(111)
        public static let invalidChannelName = Code(112)
        public static let objectTooLarge = Code(116)
        public static let operationForbidden = Code(119)
        public static let invalidNestedKey = Code(121)
        public static let invalidFileName = Code(122)
        public static let invalidACL = Code(123)
        public static let timeout = Code(124)
        public static let invalidEmailAddress = Code(125)
        /// Sent with 413.
        public static let fileTooLarge = Code(129)
        public static let fileSaveError = Code(130)
        public static let invalidInstallationId = Code(132)
        public static let invalidDeviceType = Code(133)
        public static let missingRequiredField = Code(135)
        public static let changedImmutableField = Code(136)
        public static let duplicateValue = Code(137)
        public static let invalidRoleName = Code(139)
        public static let scriptFailed = Code(141)
        public static let validationError = Code(142)
        /// A webhook that is not declared rightly, or that does not answer as it should.
        public static let webhookError = Code(143)
        /// A purchase's receipt is for something else.
        public static let invalidProductIdentifier = Code(146)
        /// An app store answered what is no answer.
        public static let invalidServerResponse = Code(148)
        public static let invalidImageData = Code(150)
        public static let fileDeleteError = Code(153)
        public static let inefficientQuery = Code(154)
        /// Sent with 429 when a share or quota is used up: `ParseError.tooManyRequests`.
        public static let requestLimitExceeded = Code(155)
        public static let duplicateRequest = Code(159)
        public static let invalidEventName = Code(160)
        public static let invalidValue = Code(162)
        public static let usernameMissing = Code(200)
        public static let passwordMissing = Code(201)
        public static let usernameTaken = Code(202)
        public static let emailTaken = Code(203)
        public static let emailMissing = Code(204)
        public static let emailNotVerified = Code(205)
        public static let sessionMissing = Code(206)
        public static let accountAlreadyLinked = Code(208)
        public static let invalidSessionToken = Code(209)
        public static let mfaTokenRequired = Code(211)
        public static let unsupportedService = Code(252)
        public static let invalidAuthData = Code(253)
        public static let classNotEmpty = Code(255)
    }

    /// Missing and not readable are one answer, so that nobody learns of an object they may not see.
    public static let objectNotFound = ParseError(.objectNotFound, "Object not found.")
    public static let invalidSession = ParseError(.invalidSessionToken, "Invalid session token")
    /// For our own faults; what happened goes to the log.
    public static let internalError = ParseError(.internalServerError, "Internal server error.")

    /// Something that is planned and not there yet: a clear refusal instead of a guess.
    public static func notBuilt(_ what: String) -> ParseError {
        ParseError(.commandUnavailable, "\(what) is not available in this version of Satchel.")
    }

    /// 103 in the words of Parse Server, the blank at their end included: clients compare them.
    public static func invalidClassName(_ name: String) -> ParseError {
        ParseError(
            .invalidClassName,
            "Invalid classname: \(name.prefix(128)), classnames can only have alphanumeric characters and _, "
                + "and must start with an alpha character ")
    }

    /// 119 for a class that is not for clients.
    /// - Parameter operation: what was tried: `find`, `get`, `create`, `update` or `delete`.
    public static func internalClass(_ name: String, _ operation: String) -> ParseError {
        ParseError(
            .operationForbidden,
            "Clients aren't allowed to perform the \(operation) operation on the \(name.prefix(128)) collection.")
    }

    /// 105 for the name of a field that cannot be one.
    public static func invalidFieldName(_ name: String) -> ParseError {
        ParseError(.invalidKeyName, "Invalid field name: \(name.prefix(200)).")
    }

    /// A share or quota is used up for now: 155, HTTP 429.
    /// - Parameter retryAfterSeconds: when to come again, for `Retry-After`; less than one counts as one.
    public static func tooManyRequests(_ text: String, retryAfterSeconds: Int) -> ParseError {
        var error = ParseError(.requestLimitExceeded, text)
        error.retryAfterSeconds = max(1, retryAfterSeconds)
        return error
    }

    /// The error body of the protocol.
    public var body: JSON {
        var members: [String: JSON] = ["code": .int(Int64(code.rawValue)), "error": .string(message)]
        members["details"] = details
        return .object(members)
    }
}
