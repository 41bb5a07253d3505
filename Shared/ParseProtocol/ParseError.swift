/// An error as a Parse client sees it: `{"code": …, "error": …}`.
///
/// The message is public text. Private detail (SQL, paths, provider answers) belongs in the log.
public struct ParseError: Error, Hashable, Sendable {
    /// The code that SDKs tell errors by; it also decides the HTTP status.
    public var code: Code
    /// Public text for the developer of the app.
    public var message: String
    /// Machine-readable detail for functions, for example a card's decline code.
    public var details: JSON?
    /// Seconds after which the same request may succeed, for `Retry-After`; nil when none are stated.
    public var retryAfterSeconds: Int?

    /// An error whose `message` is public text.
    public init(_ code: Code, _ message: String, details: JSON? = nil) {
        self.code = code
        self.message = message
        self.details = details
    }

    /// The protocol's error codes that Satchel sends, under the names the SDKs use.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The number on the wire.
        public let rawValue: Int
        /// A code by its number, for those that have no name here.
        public init(rawValue: Int) { self.rawValue = rawValue }
        private init(_ rawValue: Int) { self.rawValue = rawValue }

        /// For mistakes of the request that have no code of their own.
        public static let otherCause = Code(-1)
        /// A fault of Satchel. Sent with 500.
        public static let internalServerError = Code(1)
        /// A service is starting, busy or away; the request can be repeated. Sent with 503.
        public static let serviceUnavailable = Code(2)
        /// Sent with 429 when one of the operator's rate limits is reached, as Parse Server does.
        public static let connectionFailed = Code(100)
        /// No such object, or none the caller may see; also a wrong password. Sent with 404.
        public static let objectNotFound = Code(101)
        /// A query whose options, constraints or stages cannot be.
        public static let invalidQuery = Code(102)
        /// A class that cannot be or does not exist.
        public static let invalidClassName = Code(103)
        /// An object's id that is missing or cannot be.
        public static let missingObjectId = Code(104)
        /// A field's name that cannot be, or that a client may not set.
        public static let invalidKeyName = Code(105)
        /// A malformed pointer. Not sent: such a pointer is `invalidJSON` (107) or `incorrectType` (111), as in Parse
        /// Server.
        public static let invalidPointer = Code(106)
        /// A body, a header or a value that is not what JSON or the protocol demands.
        public static let invalidJSON = Code(107)
        /// A route or method that does not exist, sent with 404, or an operation that is not available.
        public static let commandUnavailable = Code(108)
        /// A value whose type is not the field's.
        public static let incorrectType = Code(111)
        /// A push channel's name that cannot be.
        public static let invalidChannelName = Code(112)
        /// An object of more than 128 KB, more fields than a class may have, or a body that is too long, sent with 413.
        public static let objectTooLarge = Code(116)
        /// An operation that the caller has no right to.
        public static let operationForbidden = Code(119)
        /// A name inside an object that has a `$` or a dot.
        public static let invalidNestedKey = Code(121)
        /// A file's name that cannot be, or a file that is not there.
        public static let invalidFileName = Code(122)
        /// An ACL that is no object of principals with `read` and `write`.
        public static let invalidACL = Code(123)
        /// An operation that took longer than it may.
        public static let timeout = Code(124)
        /// A text that is no email address.
        public static let invalidEmailAddress = Code(125)
        /// Sent with 413.
        public static let fileTooLarge = Code(129)
        /// A file that is not taken in or could not be stored.
        public static let fileSaveError = Code(130)
        /// An installation's id that cannot be, or a device token that belongs to several devices.
        public static let invalidInstallationId = Code(132)
        /// A device type that cannot be. Not sent: any text is one, and a missing one is `missingRequiredField` (135).
        public static let invalidDeviceType = Code(133)
        /// A field without which the object cannot be saved.
        public static let missingRequiredField = Code(135)
        /// A field that keeps the value it has.
        public static let changedImmutableField = Code(136)
        /// A value or id that must be unique and is taken.
        public static let duplicateValue = Code(137)
        /// A role's name that cannot be.
        public static let invalidRoleName = Code(139)
        /// An unknown function or job, or the error that one answers.
        public static let scriptFailed = Code(141)
        /// A value that breaks a rule of its field, parameter or state.
        public static let validationError = Code(142)
        /// A webhook that is not declared rightly, or that does not answer as it should.
        public static let webhookError = Code(143)
        /// A purchase's receipt is for something else.
        public static let invalidProductIdentifier = Code(146)
        /// An app store answered what is no answer.
        public static let invalidServerResponse = Code(148)
        /// A photo that is no image.
        public static let invalidImageData = Code(150)
        /// A file that could not be deleted.
        public static let fileDeleteError = Code(153)
        /// A query or aggregate that keeps or computes more than it may.
        public static let inefficientQuery = Code(154)
        /// Sent with 429 when a share or quota is used up: `ParseError.tooManyRequests`.
        public static let requestLimitExceeded = Code(155)
        /// A request id that was seen before.
        public static let duplicateRequest = Code(159)
        /// An analytics event's name that cannot be.
        public static let invalidEventName = Code(160)
        /// A value that cannot be, such as the user of a `loginAs`.
        public static let invalidValue = Code(162)
        /// A sign-up or sign-in without a user name.
        public static let usernameMissing = Code(200)
        /// A sign-up or sign-in without a password.
        public static let passwordMissing = Code(201)
        /// A user name that another user has.
        public static let usernameTaken = Code(202)
        /// An email address that another user has.
        public static let emailTaken = Code(203)
        /// A request for a mail without an email address.
        public static let emailMissing = Code(204)
        /// A sign-in that needs a verified email address.
        public static let emailNotVerified = Code(205)
        /// A change of a user without that user's session.
        public static let sessionMissing = Code(206)
        /// A proof of an identity that is linked to another user.
        public static let accountAlreadyLinked = Code(208)
        /// A session that does not exist or has ended.
        public static let invalidSessionToken = Code(209)
        /// A sign-in without the code of the second factor.
        public static let mfaTokenRequired = Code(211)
        /// An identity provider that is unknown or not configured.
        public static let unsupportedService = Code(252)
        /// An `authData` value that cannot be a proof.
        public static let invalidAuthData = Code(253)
        /// A class that cannot be deleted while it has objects; also a field that is or is not there.
        public static let classNotEmpty = Code(255)
    }

    /// Missing and not readable are one answer, so that nobody learns of an object they may not see.
    public static let objectNotFound = ParseError(.objectNotFound, "Object not found.")
    /// The refusal of a session token, in the words of Parse Server.
    public static let invalidSession = ParseError(.invalidSessionToken, "Invalid session token")
    /// For our own faults; what happened goes to the log.
    public static let internalError = ParseError(.internalServerError, "Internal server error.")

    /// Something that is planned and not there yet: a clear refusal instead of a guess.
    public static func notBuilt(_ what: String) -> ParseError {
        ParseError(.commandUnavailable, "\(what) is not available in this version of Satchel.")
    }

    /// `.invalidClassName` (103) in the words of Parse Server, the blank at their end included: clients compare them.
    public static func invalidClassName(_ name: String) -> ParseError {
        ParseError(
            .invalidClassName,
            "Invalid classname: \(name.prefix(128)), classnames can only have alphanumeric characters and _, "
                + "and must start with an alpha character ")
    }

    /// `.operationForbidden` (119) for a class that is not for clients.
    /// - Parameter operation: what was tried: `find`, `get`, `create`, `update` or `delete`.
    public static func internalClass(_ name: String, _ operation: String) -> ParseError {
        ParseError(
            .operationForbidden,
            "Clients aren't allowed to perform the \(operation) operation on the \(name.prefix(128)) collection.")
    }

    /// `.invalidKeyName` (105) for the name of a field that cannot be one.
    public static func invalidFieldName(_ name: String) -> ParseError {
        ParseError(.invalidKeyName, "Invalid field name: \(name.prefix(200)).")
    }

    /// A share or quota is used up for now: `.requestLimitExceeded` (155), HTTP 429.
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
