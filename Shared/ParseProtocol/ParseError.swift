/// An error in the form that Parse clients get: `{"code": …, "error": …}`.
///
/// The message is public. Private details (SQL, paths, provider responses) belong in the log.
public struct ParseError: Error, Hashable, Sendable {
    /// The code by which SDKs distinguish errors; it also determines the HTTP status.
    public var code: Code
    /// Public text for the developer of the app.
    public var message: String
    /// Machine-readable detail for functions, for example a card's decline code.
    public var details: JSON?
    /// Seconds after which the same request may succeed, for `Retry-After`; nil when unknown.
    public var retryAfterSeconds: Int?

    /// An error with a public `message`.
    public init(_ code: Code, _ message: String, details: JSON? = nil) {
        self.code = code
        self.message = message
        self.details = details
    }

    /// The protocol's error codes that Satchel sends, with the names in the SDKs.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The number on the wire.
        public let rawValue: Int
        /// A code by its number, including codes without a name here.
        public init(rawValue: Int) { self.rawValue = rawValue }
        private init(_ rawValue: Int) { self.rawValue = rawValue }

        /// Request errors without a specific code.
        public static let otherCause = Code(-1)
        /// An internal error of Satchel. Sent with 500.
        public static let internalServerError = Code(1)
        /// A service is starting, busy or unreachable; the request can be retried. Sent with 503.
        public static let serviceUnavailable = Code(2)
        /// Sent with 429 when one of the operator's rate limits is reached, as in Parse Server.
        public static let connectionFailed = Code(100)
        /// The object does not exist or the caller may not see it; also a wrong password. Sent with 404.
        public static let objectNotFound = Code(101)
        /// Invalid options, constraints or stages of a query.
        public static let invalidQuery = Code(102)
        /// An invalid class name, or a class that does not exist.
        public static let invalidClassName = Code(103)
        /// A missing or invalid objectId.
        public static let missingObjectId = Code(104)
        /// An invalid field name, or a field that a client may not set.
        public static let invalidKeyName = Code(105)
        /// A malformed pointer. Not sent: such a pointer is `invalidJSON` (107) or `incorrectType` (111), as in Parse
        /// Server.
        public static let invalidPointer = Code(106)
        /// A body, header or value that violates JSON or the protocol.
        public static let invalidJSON = Code(107)
        /// A route or method that does not exist, sent with 404, or an unavailable operation.
        public static let commandUnavailable = Code(108)
        /// A value whose type differs from the field's.
        public static let incorrectType = Code(111)
        /// An invalid name of a push channel.
        public static let invalidChannelName = Code(112)
        /// An object of more than 128 KB, more fields than a class may have, or a body that is too long, sent with 413.
        public static let objectTooLarge = Code(116)
        /// The caller does not have the right to the operation.
        public static let operationForbidden = Code(119)
        /// A name inside an object contains a `$` or a dot.
        public static let invalidNestedKey = Code(121)
        /// An invalid file name, or a file that does not exist.
        public static let invalidFileName = Code(122)
        /// An ACL that is not an object of principals with `read` and `write`.
        public static let invalidACL = Code(123)
        /// The operation exceeded its time limit.
        public static let timeout = Code(124)
        /// A text that is not an email address.
        public static let invalidEmailAddress = Code(125)
        /// The file is too large. Sent with 413.
        public static let fileTooLarge = Code(129)
        /// A file that is not accepted or could not be stored.
        public static let fileSaveError = Code(130)
        /// An invalid installation id, or a device token that belongs to several devices.
        public static let invalidInstallationId = Code(132)
        /// An invalid device type. Not sent: any text is valid, and a missing one is `missingRequiredField` (135).
        public static let invalidDeviceType = Code(133)
        /// A field that is required to save the object is missing.
        public static let missingRequiredField = Code(135)
        /// The field must not change.
        public static let changedImmutableField = Code(136)
        /// A unique value or id is taken.
        public static let duplicateValue = Code(137)
        /// An invalid role name.
        public static let invalidRoleName = Code(139)
        /// An unknown function or job, or the error that a function or job returned.
        public static let scriptFailed = Code(141)
        /// A value that violates a rule of its field, parameter or state.
        public static let validationError = Code(142)
        /// An invalid declaration of a webhook, or an invalid response of it.
        public static let webhookError = Code(143)
        /// The purchase receipt is for another product.
        public static let invalidProductIdentifier = Code(146)
        /// An invalid response of an app store.
        public static let invalidServerResponse = Code(148)
        /// A photo that is not an image.
        public static let invalidImageData = Code(150)
        /// A file that could not be deleted.
        public static let fileDeleteError = Code(153)
        /// A query or aggregate that exceeds its memory or computation budget.
        public static let inefficientQuery = Code(154)
        /// Sent with 429 when a rate limit or quota is used up: `ParseError.tooManyRequests`.
        public static let requestLimitExceeded = Code(155)
        /// A request id that was seen before.
        public static let duplicateRequest = Code(159)
        /// An invalid name of an analytics event.
        public static let invalidEventName = Code(160)
        /// An invalid value, such as the user of a `loginAs`.
        public static let invalidValue = Code(162)
        /// A sign-up or sign-in without a user name.
        public static let usernameMissing = Code(200)
        /// A sign-up or sign-in without a password.
        public static let passwordMissing = Code(201)
        /// Another user has the user name.
        public static let usernameTaken = Code(202)
        /// Another user has the email address.
        public static let emailTaken = Code(203)
        /// A request for a mail without an email address.
        public static let emailMissing = Code(204)
        /// Signing in requires a verified email address.
        public static let emailNotVerified = Code(205)
        /// A change of a user without that user's session.
        public static let sessionMissing = Code(206)
        /// The external identity is linked to another user.
        public static let accountAlreadyLinked = Code(208)
        /// A session that does not exist or has ended.
        public static let invalidSessionToken = Code(209)
        /// A sign-in without the second factor's code.
        public static let mfaTokenRequired = Code(211)
        /// An identity provider that is unknown or not configured.
        public static let unsupportedService = Code(252)
        /// An invalid `authData` value.
        public static let invalidAuthData = Code(253)
        /// A class that cannot be deleted because it has objects; also adding a field that exists, or deleting a
        /// missing one.
        public static let classNotEmpty = Code(255)

        /// Whether the same request may succeed later.
        package var isTemporary: Bool {
            [.internalServerError, .serviceUnavailable, .connectionFailed, .timeout, .requestLimitExceeded]
                .contains(self)
        }
    }

    /// Missing and unreadable objects get the same error, so that it does not reveal whether an object exists.
    public static let objectNotFound = ParseError(.objectNotFound, "Object not found.")
    /// The error for an invalid session token, with Parse Server's text.
    public static let invalidSession = ParseError(.invalidSessionToken, "Invalid session token")
    /// For Satchel's own faults; the log has the details.
    public static let internalError = ParseError(.internalServerError, "Internal server error.")

    /// `.invalidClassName` (103) with Parse Server's text, including the trailing space: clients compare it.
    public static func invalidClassName(_ name: String) -> ParseError {
        ParseError(
            .invalidClassName,
            "Invalid classname: \(name.prefix(128)), classnames can only have alphanumeric characters and _, "
                + "and must start with an alpha character ")
    }

    /// `.operationForbidden` (119) for a class that is not for clients.
    /// - Parameter operation: the attempted operation: `find`, `get`, `create`, `update` or `delete`.
    public static func internalClass(_ name: String, _ operation: String) -> ParseError {
        ParseError(
            .operationForbidden,
            "Clients aren't allowed to perform the \(operation) operation on the \(name.prefix(128)) collection.")
    }

    /// `.invalidKeyName` (105) for an invalid field name.
    public static func invalidFieldName(_ name: String) -> ParseError {
        ParseError(.invalidKeyName, "Invalid field name: \(name.prefix(200)).")
    }

    /// A rate limit or quota is currently used up: `.requestLimitExceeded` (155), HTTP 429.
    /// - Parameter retryAfterSeconds: for `Retry-After`; less than one counts as one.
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
