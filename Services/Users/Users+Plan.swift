import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// First component of this service's kinds and name of its file.
let usersName = "users"

/// The means of working on accounts, read from the configuration before the service runs.
package struct AccountMeans: Sendable {
    /// For new passwords.
    let hasher: PasswordHasher
    let providers: IdentityProviders
    let settings: UsersSettings
    let key: AccountKey

    package init(hasher: PasswordHasher, providers: IdentityProviders, settings: UsersSettings, key: AccountKey) {
        self.hasher = hasher
        self.providers = providers
        self.settings = settings
        self.key = key
    }
}

/// The classes and tables of the service.
package func usersPlan(_ means: AccountMeans) -> ServicePlan {
    var plan = ServicePlan(
        name: usersName, classes: [userClass, sessionClass, roleClass],
        migrations: usersMigrations(means.key)
    ) { host in
        [
            "_User": UserRules(means, host: host),
            "_Session": SessionRules(settings: means.settings, key: means.key), "_Role": RoleRules(),
        ]
    }
    // A restricted session sees of users, sessions and roles what everybody sees.
    plan.readingCaller = { $0.restricted && !$0.master ? Caller.anonymous : Caller($0) }
    let own = OwnAnswers(key: means.key)
    plan.completion = { try own.complete($0, $1, $2) }
    plan.replySeal = ReplySeal(means.key)
    return plan
}

/// Users are private by their ACL. E-mail and authData stay with the user even where the ACL lets others read the rest.
private let userClass = ClassDefinition(
    "_User",
    fields: [
        "username": .string, "email": .string, "emailVerified": .boolean, "authData": .object, "firstName": .string,
        "lastName": .string, "name": .string, "displayName": .string, "gender": .number, "phone": .string,
        "address1": .string, "address2": .string, "city": .string, "state": .string, "zipcode": .string, "photo": .file,
        "isAdmin": .boolean,
    ],
    indexes: [["username"], ["email"]],
    permissions: subjectToACL.protecting(ClassPermissions.protectedOfUsers))

private let sessionClass = ClassDefinition(
    "_Session",
    fields: [
        "user": .pointer("_User"), "sessionToken": .string, "createdWith": .object, "restricted": .boolean,
        "installationId": .string, "expiresAt": .date,
    ],
    indexes: [["user", "installationId"], ["expiresAt"]], uniqueIndexes: [["sessionToken"]],
    permissions: subjectToACL)

private let roleClass = ClassDefinition(
    "_Role", fields: ["name": .string, "users": .relation("_User"), "roles": .relation("_Role")],
    uniqueIndexes: [["name"]], permissions: roleCreation)

/// Everybody may try everything; the objects' ACLs and the class's rules decide.
private let subjectToACL = ClassPermissions(
    find: .everybody, count: .everybody, get: .everybody, create: .everybody, update: .everybody, delete: .everybody,
    addField: .everybody)

/// As above, but only somebody signed in makes roles: a role concerns everybody it names.
private let roleCreation: ClassPermissions = {
    var permissions = subjectToACL
    permissions[.create] = .signedIn
    return permissions
}()

/// The plan of a suite without settings and providers, for tests.
package func usersPlan(hasher: PasswordHasher, key: AccountKey) -> ServicePlan {
    usersPlan(AccountMeans(hasher: hasher, providers: IdentityProviders(), settings: UsersSettings(), key: key))
}
